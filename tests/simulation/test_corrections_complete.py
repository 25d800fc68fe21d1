"""The study behind the table of corrections: what it measures in one small world, and how the table is made of it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
corrections_complete_study = pytest.importorskip("corrections_complete_study")
corrections_complete = pytest.importorskip("corrections_complete")

SMALL = {"users": 150, "items": 60, "ratings": 2500}
NEITHER = corrections_complete_study.SEEN[0]
APART = ("random", "oracle, noise 0.5", "oracle, noise 1.5", "oracle, noise 3")


@pytest.fixture(scope="module")
def rows():
    return corrections_complete_study.study(NEITHER, seed=0, **SMALL, only=APART)


def test_every_correction_has_a_row(rows):
    assert [row["correction"] for row in rows] == list(corrections_complete_study.TARGETS)
    assert all(row["tau"] is None or -1 <= row["tau"] <= 1 for row in rows)
    without = {row["correction"] for row in rows if row["bias"] is None}
    assert without == {name for name, target in corrections_complete_study.TARGETS.items() if not target}


def test_plain_metrics_find_the_order_where_nothing_is_biased(rows):
    """Four systems that are far apart, observed by a process that knows neither popularity nor value."""
    tau = {row["correction"]: row["tau"] for row in rows}
    plain = ("random test of the same size", "nDCG@10", "recall@10", "precision@10")  # weights add noise of their own
    assert {name: tau[name] for name in plain} == dict.fromkeys(plain, pytest.approx(1.0))


def test_opposed_popularity_misleads_plain_metrics_and_not_exact_weights():
    """An oracle that avoids popular items against popularity itself, where the popular is not liked."""
    seen = corrections_complete_study.Seen(way="opposed", gamma=1.0, alignment=-0.8)
    found = corrections_complete_study.study(seen, seed=1, **SMALL, only=("popularity", "oracle − popularity"))
    tau = {row["correction"]: row["tau"] for row in found}
    assert tau["nDCG@10"] == pytest.approx(-1.0)
    assert tau["IPS, exact"] == pytest.approx(1.0)


def test_exact_propensities_are_those_of_pairs_that_are_not_in_train():
    """Over all pairs that are not in train, tested pairs weighted by 1/p add up to their number, on average."""
    ratios = {"unseen": [], "log": []}
    for seed in range(12):
        world = tv.simulate("world", users=80, items=40, ratings=1200, gamma=1.0, value_bias=0.5, seed=seed)
        parts = tv.split(world.log, "holdout", ratio=corrections_complete_study.RATIO, seed=seed)
        in_log, unseen = corrections_complete_study.true_propensities(world, parts)
        others = 80 * 40 - len(parts.train)
        ratios["unseen"].append((1 / unseen.table["p"]).sum() / others)
        ratios["log"].append((1 / in_log.table["p"]).sum() / corrections_complete_study.RATIO / others)
    error = np.std(ratios["unseen"], ddof=1) / np.sqrt(12)
    assert np.mean(ratios["unseen"]) == pytest.approx(1.0, abs=4 * error)
    assert (
        np.mean(ratios["log"]) > np.mean(ratios["unseen"]) + error
    )  # weights of all pairs, of which some are in train


def invented(values):
    """Rows as of a study: τ by correction for each of several seeds."""
    names = list(corrections_complete_study.TARGETS)
    return pl.DataFrame([
        {"way": seen.way, "gamma": seen.gamma, "seed": seed, "correction": name, "tau": values(name, seed),
         "at_best": 1.0, "own": 1.0, "bias": 0.25, "square": 0.09}
        for seen in corrections_complete_study.SEEN for seed in range(6) for name in names
    ])  # fmt: skip


def test_the_page_says_what_the_rows_say():
    def values(name, seed):
        own = 0.01 * (seed % 2) if name in ("bpref", "U1R") else 0.0
        return {"bpref": 0.8, "U1R": 0.2}.get(name, 0.5) + 0.01 * seed + own

    text = corrections_complete.page(invented(values)).replace("\N{NO-BREAK SPACE}", " ")
    assert text.count("0.83 ± 0.02 ▲; +25 (30)") == 14
    assert text.count("▼") == 14 + 1  # U1R everywhere, and the legend
    assert "- **value**: better: bpref. Worse: U1R." in text
    assert "'bpref': {'neither': 0.83, 'value': 0.83" in text


def test_the_worst_shortfall_of_each_correction_follows_from_the_rows():
    """The random test has τ = 0.5 everywhere, U1R 0.75 less than that in one way and 0.25 in the others."""
    at = [("neither", 0.0), ("opposed", 1.0), ("opposed", 2.0)]
    tau = {"bpref": [0.6, 0.5, 0.5], "U1R": [0.25, 0.25, -0.25], corrections_complete_study.RANDOM: [0.5] * 3}
    rows = [(way, gamma, name, own) for name, values in tau.items() for (way, gamma), own in zip(at, values)]
    means = pl.DataFrame(rows, ["way", "gamma", "correction", "tau"], orient="row")
    lines = corrections_complete.what_follows(means).splitlines()[2:]
    assert lines[0].startswith("| bpref | 0.00 |")
    assert lines[1] == "| U1R | 0.75 | popularity, opposed, γ = 2 |"
    assert len(lines) == 2


def test_finished_worlds_are_not_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(corrections_complete, "SEEN", (NEITHER,))
    kept = tmp_path / "kept.jsonl"
    line = {"way": "neither", "gamma": 0.0, "seed": 0, "correction": "bpref", "tau": 0.5}
    other = {**line, "tau": 0.1}
    worlds = [{"made_by": corrections_complete.made_by(), "rows": [line]}, {"made_by": "other code", "rows": [other]}]
    kept.write_text("".join(corrections_complete.json.dumps(world) + "\n" for world in worlds))
    assert corrections_complete.run([0], kept, processes=1)["tau"].to_list() == [0.5]
