"""Sampled metrics corrected: in Python, by trueval run, in every format, and refused where nothing can be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.facts.sampling_correction import corrected

METRICS = ["ndcg@10", "rr", "auc", "recall@10", "f1@10"]
RANKED = METRICS[:4]  # f1 is no metric of one rank alone


def log_of(users: int = 150, items: int = 120) -> pl.DataFrame:
    """A few tastes, and items that are popular with all."""
    rng = np.random.default_rng(2)
    taste = rng.normal(size=(users, 3)) @ rng.normal(size=(3, items))
    chance = 1 / (1 + np.exp(-(taste - 2 - 0.02 * np.arange(items))))
    user, item = np.nonzero(rng.random((users, items)) < chance)
    return pl.DataFrame({"user": user, "item": item})


def evaluated(design: str, **asked: object) -> tv.Result:
    parts = tv.split(log_of(), "holdout", ratio=0.3, seed=1)
    systems = ["popularity", "puresvd[factors=3]"]
    return tv.evaluate(parts, systems, design=design, metrics=METRICS, **({"interval": "none"} | asked))


@pytest.fixture(scope="module")
def sampled() -> tv.Result:
    return evaluated("1R-TI-NN50")


def test_the_full_ranking_is_estimated(sampled: tv.Result) -> None:
    full, found = evaluated("1R-TI-AN"), sampled.corrected()
    assert [(row.system, row.metric) for row in found.rows] == [
        (name, f"{label}|n=50") for name in full.evaluation.systems for label in RANKED
    ]
    for row in found.rows:
        true = full[row.system, row.metric.partition("|")[0]].value
        assert row.sampled == sampled[row.system, row.metric].value
        assert row.low <= true <= row.high, row
        if not row.metric.startswith("auc"):  # of which samples are right on average
            assert abs(row.estimate - true) < 0.4 * abs(row.sampled - true), row
        direct = corrected(sampled.facts[row.system], row.metric.partition("|")[0])
        assert (row.estimate, row.error, row.bias, row.note) == (direct.value, direct.error, direct.bias, direct.note)
    assert any("f1@10" in note for note in found.notes)


def test_folds_have_rows_of_their_own() -> None:
    parts = tv.split(log_of(), "kfold", n=2, seed=1)
    result = tv.evaluate(parts, ["popularity"], design="1R-TI-NN20", metrics="ndcg@10", interval="none")
    found = result.corrected()
    assert [row.repeat for row in found.rows] == list(result.repeats)
    assert len({row.estimate for row in found.rows}) == 2
    assert next(iter(result.repeats)) in str(found)


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        ("AR-TI-AN", "nothing is sampled"), ("1R-TI-AN", "nothing is sampled"), ("AR-TI-NN20", "one relevant item"),
        ("1R-TI-NN20pop", "uniform samples"), ("P1R2-TI-NN10", "percentiles"),
    ],
)  # fmt: skip
def test_what_has_nothing_to_correct_is_refused(design: str, reason: str) -> None:
    with pytest.raises(tv.TruevalError, match=rf"no sampled metric to correct[^$]*{reason}[^$]*1R-TI-NN100"):
        evaluated(design).corrected()


def test_runs_and_facts_that_were_not_kept_are_refused(sampled: tv.Result) -> None:
    test = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    given = tv.evaluate_run(test.with_columns(rank=1), test, metrics="rr", interval="none")
    with pytest.raises(tv.TruevalError, match="given lists are not sampled"):
        given.corrected()
    with pytest.raises(tv.TruevalError, match="facts of 'popularity' were not kept"):
        evaluated("1R-TI-NN20", keep_facts=False).corrected()


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiment")
    log_of().write_csv(folder / "log.csv")
    for name, designs in (("both", '["1R-TI-NN50", "1R-TI-AN"]'), ("full", '["AR-TI-AN"]')):
        (folder / f"{name}.toml").write_text(
            f'[data]\npath = "log.csv"\n[split]\nhow = "holdout"\nratio = 0.3\nseed = 1\n[evaluation]\n'
            f'designs = {designs}\nmetrics = ["ndcg@10", "f1@10"]\ninterval = "none"\n'
            f"[systems]\npopularity = {{}}\npuresvd = {{ factors = 3 }}\n"
        )
    return folder


def test_every_format_of_the_command_has_the_corrections(experiment: Path, trueval: Callable[..., Any]) -> None:
    def ran(format: str, *more: str) -> str:
        words = ["run", experiment / "both.toml", "-o", experiment / "out", "--quiet", "--resume", "--format", format]
        found = trueval(*words, *more)
        assert found.code == 0, found.err
        return str(found.out)

    trueval("run", experiment / "both.toml", "-o", experiment / "out", "--quiet")
    record = json.loads(ran("json", "--correct-sampled"))["corrected"]
    rows = record["corrected"]
    assert [row["system"] for row in rows] == ["popularity", "puresvd"]
    texts = {format: ran(format, "--correct-sampled") for format in ("table", "md", "latex")}
    for text in texts.values():
        assert "orrected: estimates of the full ranking" in text
        for row in rows:
            assert f"{row['estimate']:.4f}" in text
            assert f"{row['sampled']:.4f}" in text
    table = pl.read_csv(ran("csv", "--correct-sampled").encode())
    assert table["estimate"].to_list() == pytest.approx([row["estimate"] for row in rows])
    assert {"design", "system", "metric", "sampled", "error", "bias", "low", "high", "n", "note"} <= set(table.columns)
    lines = [json.loads(line) for line in ran("jsonl", "--correct-sampled").splitlines()]
    assert [line["bias"] for line in lines] == pytest.approx([row["bias"] for row in rows])
    assert "estimate\t" in ran("tsv", "--correct-sampled")
    assert "corrected" not in json.loads(ran("json"))
    assert "estimates of the full ranking" not in ran("table")


def test_an_experiment_without_samples_is_refused_before_it_begins(
    experiment: Path, trueval: Callable[..., Any]
) -> None:
    out = experiment / "nothing"
    found = trueval("run", experiment / "full.toml", "-o", out, "--correct-sampled")
    assert found.code == 2
    assert "AR-TI-AN: nothing is sampled" in found.err
    assert not out.exists()
    with pytest.raises(tv.TruevalError, match=r"AR-TI-AN: nothing is sampled"):
        _ = tv.run(experiment / "full.toml").corrected
