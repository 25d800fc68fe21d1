"""Which arm is the control, sums of columns in metrics, and the filter of rows."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_ab_balance import ads_table

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.column_sums import read_sum
from trueval.online.ab.filtering import filter_rows


def arms_table(*names: str) -> pl.DataFrame:
    n = 60 * len(names)
    rng = np.random.default_rng(0)
    return pl.DataFrame({"user": np.arange(n), "arm": list(names) * 60, "x": rng.lognormal(0, 1, n)})


@pytest.mark.parametrize(
    ("names", "control"),
    [
        (("control", "banner"), "control"), (("new", "Control"), "Control"), (("ad", "none"), "none"),
        (("yes", "no"), "no"), (("treatment", "BASELINE"), "BASELINE"), (("B", "A"), "A"), (("on", "off"), "off"),
        (("1", "0"), "0"), (("true", "false"), "false"), (("new", "original"), "original"), (("a", "b", "c"), "a"),
        (("Group B", "Group A", "Group C"), "Group A"), (("z", "control_group", "y"), "control_group"),
        (("B (test)", "A (control)"), "A (control)"),
    ],
)  # fmt: skip
def test_the_control_is_known_by_its_name(names, control):
    found = tv.ab_test(arms_table(*names), arm="arm", metrics="x")
    assert found.arms[0] == control
    assert f"control arm: {control} (by its name)" in str(found)
    assert found.manifest["control_is"] == "by its name"


def test_two_arms_without_a_telling_name():
    found = tv.ab_test(arms_table("gate_40", "gate_30"), arm="arm", metrics="x")
    assert found.arms[0] == "gate_30"
    told = "control arm: gate_30 (alphabetically first, because neither name identifies the control; choose with"
    assert told in str(found)
    both = tv.ab_test(arms_table("none", "control"), arm="arm", metrics="x")
    assert "because both names could be the control" in str(both)
    assert tv.ab_test(arms_table("none", "control"), arm="arm", metrics="x", control="none").arms[0] == "none"


@pytest.mark.parametrize("names", [("red", "green", "blue"), ("control", "none", "ad"), ("v1", "v2", "v3", "v4")])
def test_three_arms_without_one_telling_name_are_refused(names):
    with pytest.raises(DefinitionError, match="the control cannot be determined") as refusal:
        tv.ab_test(arms_table(*names), arm="arm", metrics="x")
    assert "--control NAME" in refusal.value.do
    found = tv.ab_test(arms_table(*names), arm="arm", metrics="x", control=names[1])
    assert found.arms[0] == names[1]
    assert f"control arm: {names[1]} (as named)" in str(found)


def test_a_sum_as_denominator_is_the_column_of_sums():
    rng = np.random.default_rng(1)
    frame = arms_table("a", "b").with_columns(yes=pl.Series(rng.poisson(3, 120)), no=pl.Series(rng.poisson(2, 120)))
    frame = frame.with_columns(all=pl.col("yes") + pl.col("no"), balance=pl.col("yes") - pl.col("no"))
    pairs = {
        "r=yes/(yes+no)": "r=yes/all", "r=yes/( yes + no )": "r=yes/all", "r=(all-no)/all": "r=yes/all",
        "r=(yes-no)/(yes+no)": "r=balance/all", "r:mean=yes-no": "r:mean=balance", "r:mean=all-(yes-no)": "r:mean=2no",
        "r:mean=-no+yes": "r:mean=balance", "r:bootstrap=yes/(yes+no)": "r:bootstrap=yes/all",
    }  # fmt: skip
    frame = frame.with_columns((2 * pl.col("no")).alias("2no"))
    for one, other in pairs.items():
        if "bootstrap" not in one:
            got, want = (tv.ab_test(frame, arm="arm", metrics=text).comparisons for text in (one, other))
            assert got == want, one
    assert tv.ab_test(frame, arm="arm", metrics="r:bootstrap=yes/(yes+no)", resamples=200).comparisons[0].p > 0


def test_sums_of_events_and_of_what_is_counted_from_them():
    frame = arms_table("a", "b")
    events = pl.concat([frame, frame.head(50)]).with_columns(
        yes=pl.int_range(pl.len()) % 3, no=pl.int_range(pl.len()) % 2
    )
    summed = events.group_by("user", "arm").agg(pl.col("yes", "no").sum(), events=pl.len())
    for text in ("r=yes/(yes+no)", "r=yes/(events+no)"):
        one, other = (tv.ab_test(table, arm="arm", metrics=text).comparisons for table in (events, summed))
        assert one == other


names = st.sampled_from(["a", "b", "c-d", "e f", "g"])


@st.composite
def sums(draw, depth=0):
    """A sum as text, and what it comes to by hand."""
    columns = {"a": 3, "b": 5, "c-d": 7, "e f": 11, "g": 13}
    text, total = "", 0
    for place in range(draw(st.integers(1, 3))):
        sign = draw(st.sampled_from("+-")) if place else "+"
        if depth < 2 and draw(st.booleans()):
            inner, value = draw(sums(depth + 1))
            part = f"({inner})"
        else:
            part = draw(names)
            value = columns[part]
        space = draw(st.sampled_from(["", " "]))
        text += (f"{space}{sign}{space}" if place else "") + part
        total += value if sign == "+" else -value
    return text, total


@given(sums())
def test_sums_are_read_as_they_are_written(case):
    text, total = case
    columns = {"a": 3, "b": 5, "c-d": 7, "e f": 11, "g": 13}
    assert sum(sign * columns[name] for sign, name in read_sum(text, columns)) == total


@pytest.mark.parametrize(
    ("metric", "word"),
    [
        ("r=yes/(yes+nope)", "there is no column 'nope' for r"),
        ("r=yes/(yes+)", "a column was expected in a sum"),
        ("r=yes/(yes*no)", "in a sum of columns"),
        ("r=yes+no/all", "a sum in a ratio needs brackets"),
        ("r=yes/(no-yes)", "must not be negative"),
        ("r=yes/__import__('os')", "in a sum of columns"),
        ("r=(yes", "a closing bracket was expected"),
        ("r=yes)", "unexpected text"),
    ],
)
def test_bad_sums_are_refused(metric, word):
    frame = arms_table("a", "b").with_columns(
        yes=pl.col("user") % 3, no=pl.col("user") % 2, all=pl.lit(7) + pl.col("user")
    )
    with pytest.raises((DataError, DefinitionError)) as refusal:
        tv.ab_test(frame, arm="arm", metrics=metric)
    assert word in str(refusal.value)


def test_a_filter_keeps_the_rows_it_says():
    frame = ads_table(3000)
    chosen = frame.filter((pl.col("country") == "de") & (pl.col("day") >= 3))
    found = tv.ab_test(frame, arm="arm", metrics="bought", where="country == 'de' and day >= 3", balance="country,day")
    assert found.comparisons == tv.ab_test(chosen, arm="arm", metrics="bought").comparisons
    said = f"filter country == 'de' and day >= 3: {len(chosen):,} of 3,000 rows and {len(chosen):,} of 3,000 users kept"
    assert said in found.notes
    assert found.manifest["where"] == "country == 'de' and day >= 3"
    assert not any("the filter uses" in warning for warning in found.warnings)  # both were named as known before


def test_missing_values_are_dropped_and_said():
    frame = ads_table(600).with_columns(
        v=pl.when(pl.col("user") % 3 == 0).then(None).when(pl.col("user") % 3 == 1).then(float("nan")).otherwise(5.0)
    )
    kept, told = filter_rows(frame, "v > 1")
    assert set(kept["user"] % 3) == {2}
    assert (told.rows_kept, told.rows_undefined) == (200, 400)


def test_a_filter_on_an_outcome_is_warned_of_and_found_out():
    """With the ad twice as many buy: kept are the buyers, and of these the arms have unequal shares."""
    rng = np.random.default_rng(2)
    frame = ads_table(8000).with_columns(
        bought=pl.Series(rng.random(8000)) < pl.when(pl.col("arm") == "ad").then(0.2).otherwise(0.1),
        age=pl.col("user") % 50,
    )
    frame = frame.with_columns(spent=pl.col("bought") * (1 + pl.col("spent_before")))
    found = tv.ab_test(frame, arm="arm", metrics="spent:mean", where="spent > 0", ignore_mismatch=True)
    assert "the filter uses spent, which the test compares" in found.warnings[0]
    kept = next(check for check in found.balance if check.name == "users kept by the filter")
    assert kept.failed
    plain = tv.ab_test(frame, arm="arm", metrics="bought", where="age > 20")
    assert "the filter uses age: if the arm can change it" in plain.warnings[0]
    assert not plain.imbalances


def test_a_filter_can_leave_out_an_arm_and_users_in_two():
    frame = pl.concat([arms_table("a", "b", "c"), pl.DataFrame({"user": [0], "arm": ["b"], "x": [99.5]})])
    found = tv.ab_test(frame, arm="arm", metrics="x", where="arm in ('a', 'b') and x <> 99.5")
    assert found.arms == ("a", "b")


@pytest.mark.parametrize(
    ("where", "word"),
    [
        ("nosuch = 1", "there is no column 'nosuch' for the filter"),
        ("countri = 'de'", "did you mean country"),
        ('country == "de"', "text is written in single quotes: 'de'"),
        ("sum(day) > 3", "a filter cannot use sum("),
        ("row_number() over (order by day) > 2", "one row at a time"),
        ("day > (select 1)", "one row at a time"),
        ("day in (select x from read_csv('secret.csv'))", "one row at a time"),
        ("read_csv('/etc/passwd')", "a filter cannot use read_csv("),
        ("__import__('os').system('true')", "a filter cannot use __import__("),
        ("day >=", "could not be read"),
        ("", "could not be read"),
        ("day > 3; drop table x", "could not be read"),
        ("day > 'x'", "cannot compare"),
        ("user > 3", 'write the column as "user"'),
        ("day", "not a condition"),
        ("1 = 1", "not a condition"),
        ("day > 99", "the filter keeps no row"),
        ("arm = 'ad'", "there is only one arm"),
    ],
)  # fmt: skip
def test_bad_filters_are_refused(where, word):
    with pytest.raises((DataError, DefinitionError)) as refusal:
        tv.ab_test(ads_table(200), arm="arm", metrics="bought", where=where)
    assert word in str(refusal.value)


def test_all_of_it_at_the_command_line(trueval, tmp_path):
    ads_table(6000, lost=0.3).with_columns(yes=pl.col("user") % 4, no=pl.col("user") % 3).write_csv(tmp_path / "t.csv")
    options = ["--arm", "arm", "--metrics", "approval=yes/(yes+no)", "--where", "day >= 2 and country <> 'it'"]
    page = tmp_path / "page.html"
    ran = trueval("ab", tmp_path / "t.csv", *options, "--balance", "browser", "--by", "country", "--report", page)
    assert ran.code == 0, ran.err
    assert "no verdict: mismatch of the arms in browser" in ran.out
    assert "by country" in ran.out
    assert "filter day >= 2 and country <> 'it': " in ran.out
    assert "<h2>Balance of the arms</h2>" in page.read_text()
    assert "filter day &gt;= 2" in page.read_text()
    for kind in ("md", "latex"):
        text = trueval("ab", tmp_path / "t.csv", *options, "--format", kind).out
        assert "filter day >= 2" in text
        assert "browser differs between the arms" in text
        assert "control arm: none (by its name)" in text.lower()
    record = json.loads(trueval("ab", tmp_path / "t.csv", *options, "--format", "json").out)
    assert {"name", "test", "p", "p_corrected", "threshold", "failed", "asked"} <= set(record["balance"][0])
    assert record["manifest"]["where"] == "day >= 2 and country <> 'it'"


def test_a_hundred_brackets_within_each_other_are_enough() -> None:
    assert read_sum("(" * 100 + "a" + ")" * 100, ["a"]) == [(1, "a")]
    with pytest.raises(DefinitionError, match="more than 100 brackets"):
        read_sum("(" * 101 + "a" + ")" * 101, ["a"])
    assert read_sum("+".join(["(a)"] * 120), ["a"]) == [(1, "a")] * 120  # beside each other they are no deeper
