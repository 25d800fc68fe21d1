"""The analysis of a user study: pairs, scales, positions, planted checks, attendance, words and formats."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import trueval as tv
from trueval.errors import TruevalError
from trueval.online.user_study.planted_checks import planted_checks
from trueval.online.user_study.tables import study_tables

RANKED = pl.DataFrame({"participant": ["p", "p"], "system": ["a", "b"], "rank": [1, 2]})
STRENGTHS = {"new": 1.0, "old": 0.3, "older": -0.5}


def pairs_table(rows: list[tuple[str, str, str, str]], check: str | None = None) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["participant", "left", "right", "answer"], orient="row")
    task = pl.int_range(1, pl.len() + 1).over("participant")
    return frame.with_columns(task=task, check=pl.lit(check, pl.String))


def test_equals_are_told_together() -> None:
    """Of a, b and c, each of the first two is once first and once second."""
    rows = [("p", "a", 1), ("p", "b", 2), ("p", "c", 3), ("q", "a", 2), ("q", "b", 1), ("q", "c", 3)]
    ranks = pl.DataFrame(rows, schema=["participant", "system", "rank"], orient="row")
    assert (
        "a and b have the best mean rank, 1.50: a came first for 1 of 2 participants"
        in tv.study_analysis(ranks).verdict
    )
    scales = ranks.select("participant", "system", value="rank")
    assert "c has the highest mean, 3.00" in tv.study_analysis(scales).verdict
    others = scales.filter(pl.col("system") != "c")
    assert "a and b have the highest mean, 1.50" in tv.study_analysis(others).verdict


def test_preferences_between_two_by_hand() -> None:
    """p chooses a twice and b once, q b once, r sees no difference; s chooses both once."""
    rows = [
        ("p", "a", "b", "left"), ("p", "b", "a", "right"), ("p", "a", "b", "right"),
        ("q", "a", "b", "right"), ("r", "a", "b", "none"), ("s", "a", "b", "left"), ("s", "a", "b", "right"),
    ]  # fmt: skip
    found = tv.study_analysis(pairs_table(rows)).findings.pairs
    assert found is not None
    (one,) = found.preferences
    assert (one.prefer_one, one.neither, one.prefer_other) == (1, 2, 1)
    assert (one.answers_one, one.answers_neither, one.answers_other) == (3, 1, 3)
    assert (found.participants, found.answers, found.no_difference) == (4, 7, 1)
    assert one.p == 1.0


def test_preferences_are_exact_sign_tests_with_holm() -> None:
    rows = [(f"p{n}", "a", "b", "left" if n < 14 else "right") for n in range(16)]
    rows += [(f"p{n}", "a", "c", "left" if n < 10 else "right") for n in range(16)]
    found = tv.study_analysis(pairs_table(rows)).findings.pairs
    assert found is not None
    exact = [stats.binomtest(k, 16).pvalue for k in (14, 10)]
    assert [one.p for one in found.preferences] == pytest.approx(exact)
    assert [one.p_corrected for one in found.preferences] == pytest.approx([2 * exact[0], exact[1]])
    assert [one.verdict for one in found.preferences] == ["better", "not shown"]


def test_systems_that_were_never_compared_have_no_strengths() -> None:
    rows = [(f"p{n}", *pair, "left") for n in range(8) for pair in (("a", "b"), ("c", "d"))]
    found = tv.study_analysis(pairs_table(rows))
    assert found.findings.pairs is not None
    assert found.findings.pairs.strengths.systems == ()
    assert any("never compared" in note for note in found.notes)
    assert str(found)


def test_scales_are_compared_by_paired_t() -> None:
    rng = np.random.default_rng(1)
    values = np.clip(np.rint(rng.normal([3.6, 3.0, 2.9], 1, (40, 3))), 1, 5)
    rows = [
        {"participant": p, "system": s, "value": values[p, at]} for p in range(40) for at, s in enumerate("abc")
    ]  # fmt: skip
    found = tv.study_analysis(pl.DataFrame(rows)).findings.scales
    assert found is not None
    by_name = {"a": 0, "b": 1, "c": 2}
    for one in found.differences:
        left, right = (values[:, by_name[name]] for name in (one.one, one.other))
        assert one.p == pytest.approx(stats.ttest_rel(left, right).pvalue)
        assert one.difference == pytest.approx((left - right).mean())
    raw = np.array([one.p for one in found.differences])
    order = np.argsort(raw)
    holm = np.minimum(1, np.maximum.accumulate(raw[order] * [3, 2, 1]))
    assert [found.differences[at].p_corrected for at in order] == pytest.approx(holm)
    for one in found.values:
        own = values[:, by_name[one.system]]
        span = stats.t.interval(0.95, 39, own.mean(), own.std(ddof=1) / np.sqrt(40))
        assert (one.low, one.high) == pytest.approx(span)
        assert one.median == np.median(own)
        assert one.median_low <= one.median <= one.median_high


def test_planted_checks_in_rankings() -> None:
    """same: something between the twins; random: more below than above, or no other list has a place."""
    rows = [
        ("good", "a", 1, None), ("good", "b", 3, None), ("good", "a", 2, "same"), ("good", "(random)", 4, "random"),
        ("between", "a", 1, None), ("between", "b", 2, None), ("between", "a", 3, "same"),
        ("between", "(random)", 4, "random"),
        ("fond", "a", 2, None), ("fond", "b", 4, None), ("fond", "a", 3, "same"), ("fond", "(random)", 1, "random"),
        ("tied", "a", 1, None), ("tied", "b", 1, None), ("tied", "a", 1, "same"), ("tied", "(random)", 1, "random"),
        ("alone", "a", None, None), ("alone", "b", None, None), ("alone", "a", None, "same"),
        ("alone", "(random)", 1, "random"),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["participant", "system", "rank", "check"], orient="row")
    found = {one.kind: one for one in planted_checks(study_tables(frame))}
    assert {kind: one.failed for kind, one in found.items()} == {"same": ("between",), "random": ("alone", "fond")}
    analysis = tv.study_analysis(frame, blanks="worse")
    assert {one.kind: one.failed for one in analysis.checks} == {"same": ("between",), "random": ("alone", "fond")}
    assert analysis.findings.rankings is not None
    assert analysis.careful is not None
    assert analysis.careful.rankings is not None
    assert (analysis.findings.rankings.participants, analysis.careful.rankings.participants) == (4, 2)
    assert [s.system for s in analysis.findings.rankings.systems] == ["a", "b"]
    passed = frame.filter(pl.col("participant").is_in(["good", "tied"]))  # as many as failed
    again = tv.study_analysis(passed, blanks="worse").findings.rankings
    assert again is not None
    assert str(analysis.careful.rankings.systems) == str(again.systems) != str(analysis.findings.rankings.systems)


def test_planted_checks_in_pairs_and_scales() -> None:
    pairs = pl.concat([
        pairs_table([("p", "a", "b", "left"), ("q", "a", "b", "left")]),
        pairs_table([("p", "a", "a", "none"), ("q", "b", "b", "right")], "same").with_columns(task=pl.col("task") + 5),
        pairs_table([("p", "(random)", "a", "left"), ("q", "a", "(random)", "none")], "random").with_columns(
            task=pl.col("task") + 8),
    ])  # fmt: skip
    found = {one.kind: one.failed for one in planted_checks(study_tables(pairs))}
    assert found == {"same": ("q",), "random": ("p",)}
    rows = [
        ("p", 1, "a", 5, None), ("p", 2, "b", 3, None), ("p", 3, "a", 4, "same"), ("p", 4, "(random)", 1, "random"),
        ("q", 1, "a", 5, None), ("q", 2, "b", 3, None), ("q", 3, "a", 2, "same"), ("q", 4, "(random)", 5, "random"),
    ]  # fmt: skip
    scales = pl.DataFrame(rows, schema=["participant", "task", "system", "value", "check"], orient="row")
    assert {one.kind: one.failed for one in planted_checks(study_tables(scales))} == {"same": ("q",), "random": ("q",)}


def test_positions_left_and_right() -> None:
    """All of 16 choose the left list: 2 of 2^16 patterns of sides are as extreme, found by draws."""
    rows = [(f"p{n:02}", *(("a", "b") if n % 2 else ("b", "a")), "left") for n in range(16)]
    (bias,) = tv.study_analysis(pairs_table(rows)).position_bias
    assert bias.means == (1.0, 0.0)
    assert bias.p == pytest.approx(1 / 10_001)
    (one,) = tv.study_analysis(pairs_table(rows)).findings.pairs.preferences  # type: ignore[union-attr]
    assert (one.prefer_one, one.prefer_other) == (8, 8)


def test_attendance() -> None:
    tables = {
        "rankings": pl.DataFrame({"participant": ["p", "p"], "system": ["a", "b"], "rank": [1, 2]}),
        "participants": pl.DataFrame({
            "participant": ["p", "q", "r"], "finished": ["yes", None, None], "last_page": ["done", "task 1", "task 1"],
        }),
        "shown": pl.DataFrame({
            "participant": ["p", "p"], "system": ["a", "b"], "position": [1, 2], "seconds": [30.0, 50.0],
        }),
    }  # fmt: skip
    who = tv.study_analysis(tables).attendance
    assert (who.answered, who.started, who.finished, who.left_at) == (1, 3, 1, {"task 1": 2})
    assert who.seconds == (80.0, 80.0, 80.0)
    assert who.by_position == {1: 30.0, 2: 50.0}


@pytest.mark.parametrize("form", ["rank", "pair", "rate"])
def test_neither_row_order_nor_names_change_anything(form: str) -> None:
    tables = tv.study_answers(STRENGTHS, form=form, participants=25, same=True, careless=0.2, seed=5)
    other = {
        name: frame.with_columns(participant=pl.lit("x") + pl.col("participant").str.reverse())
        .sample(fraction=1, shuffle=True, seed=2)
        for name, frame in tables.items()
    }  # fmt: skip
    one, two = (tv.study_analysis(own) for own in (tables, other))
    assert_frame_equal(one.table(), two.table())
    assert one.verdict == two.verdict


def test_formats(tmp_path: Path) -> None:
    found = tv.study_analysis(tv.study_answers(STRENGTHS, same=True, random=True, careless=0.3, leave=0.1), first="new")
    record = json.loads(found.to_json())
    assert record["rankings"]["first"]["systems"] == ["new"]
    assert {row["system"] for row in record["rankings"]["systems"]} == set(STRENGTHS)
    assert found.table()["form"].to_list() == ["rank"] * 3
    for text in (str(found), found.to_markdown(), found.to_latex()):
        assert "new" in text
        assert "Friedman" in text
    assert found.to_html().startswith("<!DOCTYPE html>")


def test_a_folder_and_files_are_read(tmp_path: Path) -> None:
    tables = tv.study_answers(STRENGTHS, participants=12)
    for name, frame in tables.items():
        frame.write_csv(tmp_path / f"{name}.csv")
    parquet = tmp_path / "parquet"
    parquet.mkdir()
    for name, frame in tables.items():
        frame.write_parquet(parquet / f"{name}.parquet")
    whole = tv.study_analysis(tables)
    assert tv.study_analysis(tmp_path).verdict == tv.study_analysis(parquet).verdict == whole.verdict
    assert_frame_equal(tv.study_analysis(tmp_path / "rankings.csv").table(), whole.table())


def test_few_participants_are_warned_of() -> None:
    found = tv.study_analysis(tv.study_answers(STRENGTHS, participants=4))
    assert any("cannot show a preference" in text for text in found.warnings)


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        (pl.DataFrame({"participant": ["p"], "left": ["a"], "right": ["a"], "answer": ["left"]}), {}, "two different"),
        (pl.DataFrame({"participant": ["p"], "left": ["a"], "right": ["b"], "answer": ["A"]}), {}, "unknown values"),
        (pl.DataFrame({"participant": ["p"], "system": ["a"], "value": [1]}), {}, "at least two systems"),
        (pl.DataFrame({"participant": ["p"], "system": ["a"], "value": ["x"]}), {}, "must be numbers"),
        (pl.DataFrame({"participant": ["p", "p"], "left": ["a"] * 2, "right": ["b"] * 2, "answer": ["left"] * 2}), {},
         "an answer twice"),
        (pl.DataFrame({"a": [1]}), {}, "lacks columns"),
        ({"participants": pl.DataFrame({"participant": ["p"]})}, {}, "no answers"),
        ("missing.csv", {}, "no such file"),
        (7, {}, "no answers"),
        (pl.DataFrame({"participant": ["p"], "left": ["a"], "right": ["b"], "answer": ["left"]}), {"first": "a"},
         "only rankings"),
        (RANKED, {"blanks": "never"}, "unknown meaning"),
        (pl.DataFrame({"participant": ["p"], "left": ["a"], "right": ["b"], "answer": ["left"]}), {"blanks": "worse"},
         "only rankings have blanks"),
        (pl.DataFrame({"participant": ["p"], "left": ["a"], "right": ["b"], "answer": [""]}), {}, "nobody chose"),
        (pl.DataFrame({"participant": ["p"] * 2, "system": ["a", "b"], "value": [None] * 2}), {}, "nobody answered"),
        (RANKED, {"first": "c"}, "no system 'c'"),
    ],
)  # fmt: skip
def test_bad_answers_are_refused(answers: object, options: dict[str, str], message: str) -> None:
    with pytest.raises(TruevalError, match=message):
        tv.study_analysis(answers, **options)  # type: ignore[arg-type]


def test_nobody_ranked_anything() -> None:
    frame = pl.DataFrame({"participant": ["p", "p"], "system": ["a", "b"], "rank": [None, None]})
    with pytest.raises(TruevalError, match="nobody"):
        tv.study_analysis(frame)
