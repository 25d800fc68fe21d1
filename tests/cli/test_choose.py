"""trueval metrics --choose: answers lead to metrics, and the command that is printed works."""

from __future__ import annotations

import io
import itertools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trueval.calibration.metrics import POINTWISE
from trueval.metrics.choosing import QUESTIONS, WHOLE_RANKING, choose
from trueval.metrics.grammar import parse


def metrics_named() -> set[str]:
    named = {m for question in QUESTIONS for answer in question.answers for m in answer.metrics}
    return {m.replace("@k", "@10") for m in named | set(WHOLE_RANKING)}


def test_every_metric_exists() -> None:
    points = {m for m in metrics_named() if m in POINTWISE and m != "auc"}
    assert points == {"logloss", "ece", "gauc"}
    assert [str(parse(m)) for m in sorted(metrics_named() - points)] == sorted(metrics_named() - points)


def test_answers_by_option(trueval: Callable[..., Any]) -> None:
    ran = trueval("metrics", "--choose", "--answers", "have=lists,goal=one,beyond=catalogue,judgements=chosen,k=5")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[:5]] == [
        "rr@5",
        "hit@5",
        "coverage@5",
        "gini@5",
        "unjudged@5",
    ]
    assert "--items items.parquet" in ran.out


def test_answers_one_by_one(trueval: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers, words and empty lines; questions are on standard error, so that the result can be piped."""
    monkeypatch.setattr("sys.stdin", io.StringIO("1\none\n\n1\n5\n"))
    asked = trueval("metrics", "--choose")
    same = trueval("metrics", "--choose", "--answers", "have=lists,goal=one,beyond=catalogue,judgements=chosen,k=5")
    assert asked.out == same.out
    assert all(question.asks in asked.err for question in QUESTIONS)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--choose", "--answers", "have=nonsense"], "have cannot be"),
        (["--choose", "--answers", "goal=one"], "the first question is not answered"),
        (["--choose", "--answers", "have=ab,goal=one"], "goal is not asked"),
        (["--choose", "--answers", "have=lists,k=0"], "k must be a whole number"),
        (["--choose", "--answers", "have=lists,have=ab"], "answered twice"),
        (["--choose", "--answers", "colour=red"], "question=answer was expected"),
        (["--answers", "have=lists"], "--answers belongs to --choose"),
        (["ndcg", "--choose"], "takes no metric"),
    ],
)
def test_wrong_answers_are_refused(trueval: Callable[..., Any], arguments: list[str], said: str) -> None:
    ran = trueval("metrics", *arguments)
    assert ran.code == 2
    assert said in ran.err


def test_an_end_of_input_is_refused(trueval: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))
    ran = trueval("metrics", "--choose")
    assert ran.code == 2
    assert "--answers have=lists" in ran.err


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with the names that the commands use."""
    folder = tmp_path_factory.mktemp("world")
    rows = [(f"u{u}", f"i{(u * 3 + j * j) % 20}", float(1 + (u + j) % 5)) for u in range(40) for j in range(8)]
    log = pl.DataFrame(rows, schema=["user", "item", "value"], orient="row").unique(
        ["user", "item"], maintain_order=True
    )
    held = pl.int_range(pl.len()).over("user") % 2 == 0
    log.filter(~held).write_parquet(folder / "train.parquet")
    log.filter(held).write_parquet(folder / "test.parquet")
    items = [f"i{i}" for i in range(20)]
    pl.DataFrame({"item": items, "aspects": [["ab"[i % 2], "xyz"[i % 3]] for i in range(20)]}).write_parquet(
        folder / "items.parquet"
    )
    recs = [(f"u{u}", f"i{(u + 7 * r) % 20}", r) for u in range(40) for r in range(1, 11)]
    pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row").write_parquet(folder / "recs.parquet")
    pl.DataFrame({"item": items, "count": range(1, 21)}).write_csv(folder / "displays.csv")
    return folder


GOALS, BEYOND, JUDGED = ([answer.word for answer in question.answers] for question in QUESTIONS[1:])


@pytest.mark.parametrize(
    ("goal", "beyond", "judged"),
    [
        *itertools.product(GOALS, BEYOND[:1], JUDGED[:1]),
        *(("first", b, j) for b, j in zip(BEYOND, [*JUDGED, "chosen"])),
    ],
)
def test_the_command_works(
    trueval: Callable[..., Any], world: Path, monkeypatch: pytest.MonkeyPatch, goal: str, beyond: str, judged: str
) -> None:
    choice = choose({"have": "lists", "goal": goal, "beyond": beyond, "judgements": judged, "k": "5"})
    monkeypatch.chdir(world)
    ran = trueval(*shlex.split(choice.command)[1:], "--threshold", "3", "--interval", "none")
    assert ran.code == 0, ran.err
    assert all(metric in ran.out for metric in choice.metrics)
