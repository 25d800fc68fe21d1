"""The design of given lists: one name for what the options without_head, condensed and seen say."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.design.design import RunDesign, choose_run_design
from trueval.design.popular_head import head_word


def tables(seed: int = 0) -> dict[str, pl.DataFrame]:
    """Item 14 is the head: 30 users have it in train who have nothing else."""
    rng = np.random.default_rng(seed)
    train, test, recs = [(100 + user, 14) for user in range(30)], [], []
    for user in range(20):
        items = [int(item) for item in rng.permutation(15)]
        train += [(user, item) for item in items[:4]]
        test += [(user, item) for item in items[4:9]]
        recs += [(user, item, rank) for rank, item in enumerate(map(int, rng.permutation(items[4:])), 1)]
    return {
        "recs": pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row"),
        "test": pl.DataFrame(test, schema=["user", "item"], orient="row"),
        "train": pl.DataFrame(train, schema=["user", "item"], orient="row"),
    }


def evaluated(**options) -> tv.Result:
    given = tables()
    asked = {"metrics": "ndcg@5,rr,coverage@3", "train": given["train"], "interval": "none"}
    return tv.evaluate_run(given["recs"], given["test"], **asked, **options)


WORDS = list(itertools.product((None, 0.07), (False, True), ("exclude", "allow")))


@pytest.mark.parametrize(("head", "condensed", "seen"), WORDS)
def test_a_design_gives_what_its_options_give(head: float | None, condensed: bool, seen: str) -> None:
    by_options = evaluated(without_head=head, condensed=condensed, seen=seen)
    word = "-".join(
        ["given", *([head_word(head)] if head else []), *["condensed"] * condensed, *["seen"] * (seen == "allow")]
    )
    by_word = evaluated(design=word)
    assert by_word.manifest == by_options.manifest
    assert by_word.manifest["design"] == word
    assert by_word.table().equals(by_options.table())
    assert by_word.random == by_options.random
    assert by_word.warnings == by_options.warnings
    both = evaluated(design=word, without_head=head, condensed=condensed, seen=seen)
    assert both.manifest == by_options.manifest


def test_the_head_and_the_condensing_of_a_design_are_done() -> None:
    plain, headless = evaluated(design="given"), evaluated(design="given-head7")
    assert headless.manifest["without_head"]["items"] == 1
    assert plain["run", "ndcg@5"].value != headless["run", "ndcg@5"].value
    assert evaluated(design="given-condensed")["run", "rr"].value == 1 > plain["run", "rr"].value


@pytest.mark.parametrize(
    "text", ["given", "given-head10", "given-head12.5-condensed", "given-condensed-seen", "given-head10-condensed-seen"]
)
def test_names_are_read_as_they_are_printed(text: str) -> None:
    assert str(RunDesign.parse(text)) == text
    assert RunDesign.parse(text.upper()) == RunDesign.parse(text)
    first, *words = text.split("-")
    assert RunDesign.parse("-".join([first, *words[::-1]])) == RunDesign.parse(text)


@pytest.mark.parametrize(
    ("design", "options", "option"),
    [
        ("given", {"without_head": 0.1}, "without_head"),
        ("given-head20", {"without_head": 0.1}, "without_head"),
        ("given", {"condensed": True}, "condensed"),
        ("given-condensed", {"condensed": False}, "condensed"),
        ("given", {"seen": "allow"}, "seen"),
        ("given-seen", {"seen": "exclude"}, "seen"),
    ],
)
def test_contradictions_are_refused(design: str, options: dict, option: str) -> None:
    with pytest.raises(tv.TruevalError, match=f"the design and {option} contradict each other"):
        evaluated(design=design, **options)


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ("AR-TI-AN", r"begin with given[^$]*Run\(recs\)"),
        ("given-NN100", "unknown word in a design of given lists: 'NN100'"),
        ("given-", "unknown word"),
        ("given-head10-head20", "same axis twice: head"),
        ("given-head0", "above 0 and below 1"),
        ("given-head100", "above 0 and below 1"),
        (3, "given as text"),
    ],
)
def test_names_that_mean_nothing_are_refused(design: object, words: str) -> None:
    with pytest.raises(tv.TruevalError, match=words):
        evaluated(design=design)


def test_a_head_is_the_same_as_its_word_to_the_digits_that_are_written() -> None:
    chosen = choose_run_design(f"given-{head_word(1 / 3)}", without_head=1 / 3, condensed=None, seen=None)
    assert chosen.head == pytest.approx(1 / 3)


def test_the_command_line(trueval, tmp_path) -> None:
    for name, table in tables().items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    files = [f"--{name}={tmp_path / name}.parquet" for name in ("test", "train")]
    base = ("evaluate", tmp_path / "recs.parquet", *files, "--metrics", "ndcg@5", "--format", "json")
    by_word = trueval(*base, "--design", "given-head7-condensed")
    by_options = trueval(*base, "--without-head", "0.07", "--condensed")
    assert by_word.code == by_options.code == 0, by_word.err + by_options.err
    assert json.loads(by_word.out) == json.loads(by_options.out)
    assert json.loads(by_word.out)["manifest"]["design"] == "given-head7-condensed"
    for more, words in (
        (("--design", "given", "--condensed"), "contradict"),
        (("--design", "given-seen", "--seen", "exclude"), "contradict"),
        (("--design", "AR-TI-AN"), "begin with given"),
    ):
        ran = trueval(*base, *more)
        assert ran.code == 2
        assert words in " ".join(ran.err.split())
