"""Every result shows in a notebook what it prints, and gives its table to polars and pandas."""

from __future__ import annotations

import builtins
import re
from html import unescape

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.exported_tables import as_pandas
from trueval.design.design import RunDesign
from trueval.simulation.demo_world import make_world

NAME = "<b>&[x]"


def words(html: str) -> list[str]:
    """The words that a page shows."""
    return unescape(re.sub("<[^>]+>", " ", re.sub("<style>.*?</style>", "", html))).split()


@pytest.fixture(scope="module")
def shown():
    """One of each."""
    rng = np.random.default_rng(0)
    log = make_world(users=60, items=50, interactions=900).log
    parts = tv.split(log, "holdout", by="user")
    systems = {"popularity": "popularity", NAME: "itemknn", "random": "random"}
    result = tv.evaluate(parts, systems, metrics=["ndcg@10", "auc"], resamples=50)
    p = rng.random(400)
    rows = {"user": np.arange(400) % 40, "item": np.arange(400), "p": p, "y": (rng.random(400) < p).astype(int)}
    table = pl.DataFrame(rows)
    calibration = tv.calibrate(table.head(200), validation=table.tail(200), resamples=50)
    arms = pl.DataFrame({"user": range(400), "arm": ["a", NAME] * 200, "clicks": rng.integers(0, 2, 400)})
    clicks = pl.DataFrame({"item": ["a", "b"] * 40, "click": rng.integers(0, 2, 80), "propensity": [0.5] * 80})
    target = pl.DataFrame({"item": ["a", "b"], "probability": [0.75, 0.25]})
    experiment = {"data": {"path": log.frame}, "systems": {"popularity": {}, "random": {}, "itemknn": {}},
                  "evaluation": {"designs": ["AR-TI-AN", "1R-TI-AN"], "metrics": ["auc"]}}  # fmt: skip
    return {
        "Interactions": log, "Parts": parts, "Leakage": tv.leakage(parts), "Result": result,
        "Comparisons": result.compare("popularity"), "Agreement": result.agreement(),
        "AbTest": tv.ab_test(arms, arm="arm", metrics="clicks", control="a"),
        "StudyAnalysis": tv.study_analysis(tv.study_answers({NAME: 1.0, "other": 0.0}, same=True, careless=0.3)),
        "StudyPlan": tv.study_plan(prefer=0.7),
        "OffPolicy": tv.ope(clicks, target), "AbPlan": tv.ab_plan(baseline=0.1, effect=0.01),
        "Calibration": calibration, "Pointwise": calibration.after,
        "Calibrator": calibration.calibrator, "Reliability": calibration.after.reliability(),
        "Tuning": tv.tune("itemknn", {"k": [5, 10]}, data=parts.train),
        "ExperimentResult": tv.run(experiment), "Axioms": tv.check_axioms("ndcg@10", worlds=3),
        "Design": tv.Design.parse("1R-TI-NN100"), "RunDesign": RunDesign.parse("given-head10"),
    }  # fmt: skip


PRINTED = ("Result", "Comparisons", "Agreement", "AbTest", "StudyAnalysis", "StudyPlan", "OffPolicy", "AbPlan",
           "Calibration", "Pointwise", "Calibrator", "Axioms", "ExperimentResult")  # fmt: skip
OTHERS = ("Interactions", "Parts", "Leakage", "Reliability", "Tuning", "Design", "RunDesign")
TABLES = ("Leakage", "Result", "Comparisons", "Agreement", "AbTest", "StudyAnalysis", "OffPolicy", "Calibration",
          "Pointwise", "Reliability", "ExperimentResult")  # fmt: skip


@pytest.mark.parametrize("name", PRINTED)
def test_a_notebook_shows_what_is_printed(shown, name):
    """Word for word, except what bold means, which only text that can be bold says."""
    text = [word for word in str(shown[name]).split() if set(word) != {"─"}]
    page = words(re.sub(r"<p><span[^>]*>bold: .*?</p>", "", shown[name]._repr_html_()))
    assert page == text


@pytest.mark.parametrize("name", [*PRINTED, *OTHERS])
def test_pages_are_one_element_with_escaped_names(shown, name):
    made = shown[name]._repr_html_()
    assert made.startswith('<div class="trueval-shown">')
    assert made.endswith("</div>")
    assert "<b>" not in made


def test_others_show_their_numbers(shown):
    page = {name: " ".join(words(shown[name]._repr_html_())) for name in OTHERS}
    log, parts = shown["Interactions"], shown["Parts"]
    assert f"{len(log):,} rows, {log.n_users:,} users, {log.n_items:,} items" in page["Interactions"]
    assert f"train {len(parts.train):,} {100 * len(parts.train) / parts.rows:.1f} %" in page["Parts"]
    assert all(check.name in page["Leakage"] for check in shown["Leakage"].checks)
    assert "sample 100" in page["Design"]
    assert "given-head10" in page["RunDesign"]
    assert "itemknn by ndcg@10" in page["Tuning"]


@pytest.mark.parametrize("name", TABLES)
def test_tables_for_polars_and_pandas(shown, name):
    pytest.importorskip("pandas", reason="needs pandas: pip install pandas pyarrow")
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pandas pyarrow")
    found = shown[name]
    assert found.to_polars().equals(found.table())
    theirs = found.to_pandas()
    assert list(theirs.columns) == found.table().columns
    assert len(theirs) == len(found.table())


def test_a_result_takes_a_baseline_along(shown):
    assert "verdict" in shown["Result"].to_polars(baseline="popularity").columns


def test_the_table_of_a_calibration_has_its_changes(shown):
    found = shown["Calibration"]
    row = found.table().row(by_predicate=pl.col("metric") == "brier", named=True)
    assert row["difference"] == found.changes["brier"].difference
    assert (row["before"], row["after"]) == (found.before["brier"].value, found.after["brier"].value)


def test_trials_are_a_table(shown):
    assert shown["Tuning"].to_polars() is shown["Tuning"].table


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_what_to_install_for_pandas(monkeypatch, missing):
    pytest.importorskip("pandas", reason="needs pandas: pip install pandas pyarrow")
    real = builtins.__import__

    def without(name, *args, **options):
        if name == missing:
            raise ImportError(f"No module named {name!r}", name=name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(tv.TruevalError, match=f"(?s){missing} cannot be imported.*pip install pandas pyarrow"):
        as_pandas(pl.DataFrame({"a": [1]}))
