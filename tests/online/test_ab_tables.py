"""From tables of users or events to arms and values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import DataError, DefinitionError
from trueval.online.ab.metric_declarations import parse_metrics
from trueval.online.ab.read_table import ab_columns
from trueval.online.ab.sample_ratio import check_sample_ratio
from trueval.online.ab.units import make_units


def users_table(n: int = 400, seed: int = 0, arms: str = "ab") -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    impressions = 1 + rng.poisson(5, n)
    before = rng.gamma(2, 10, n)
    return pl.DataFrame(
        {
            "user": np.arange(n),
            "arm": np.array(list(arms))[np.arange(n) % len(arms)],
            "clicks": rng.binomial(impressions, 0.2),
            "impressions": impressions,
            "converted": rng.random(n) < 0.3,
            "seconds": before + rng.gamma(2, 10, n),
            "seconds_before": before,
            "country": np.array(["at", "it", "tiny"])[np.where(np.arange(n) < 20, 2, (np.arange(n) // 2) % 2)],
        }
    )


ALL = (
    "ctr=clicks/impressions, boot:bootstrap=clicks/impressions, conversion=converted, dwell:median=seconds, "
    "trim=seconds, mw:mannwhitney=seconds, q:quantile(0.9)=seconds, raw:mean=seconds"
)


def events_table() -> pl.DataFrame:
    """Two users per arm, by hand. Seconds from the first of January 2026."""
    day, minute = 86_400, 60
    rows = [
        ("u1", "a", 0, 1, 0, 10.0), ("u1", "a", 5 * minute, 1, 1, 20.0), ("u1", "a", 2 * day, 1, 0, 5.0),
        ("u2", "a", 100, 1, 0, 7.0),
        ("u3", "b", 200, 1, 1, 1.0), ("u3", "b", 200 + 29 * minute, 1, 1, 2.0),
        ("u3", "b", 200 + 60 * minute, 0, 0, 3.0),
        ("u4", "b", day - 10, 1, 0, 4.0), ("u4", "b", day + 10, 1, 0, 4.5),
    ]  # fmt: skip
    start = int(dt.datetime(2026, 1, 1, tzinfo=dt.UTC).timestamp())
    frame = pl.DataFrame(rows, schema=["uid", "version", "ts", "shown", "clicked", "dwell"], orient="row")
    return frame.with_columns(pl.col("ts") + start)


def values(units, metric):
    return [units.sample(metric, arm).values.tolist() for arm in (0, 1)]


@pytest.mark.parametrize("as_time", ["seconds", "milliseconds", "datetime", "text"])
def test_events_become_users(as_time):
    frame = events_table()
    moment = pl.from_epoch(pl.col("ts"), time_unit="s")
    frame = {
        "seconds": frame,
        "milliseconds": frame.with_columns(pl.col("ts") * 1000),
        "datetime": frame.with_columns(moment),
        "text": frame.with_columns(moment.dt.to_string("%Y-%m-%d %H:%M:%S")),
    }[as_time]
    text = "ctr=clicked/shown, clicker=clicked, dwell:mean, events:mean, sessions:mean, session_length:mean, returned"
    units = make_units(
        frame.sample(fraction=1, shuffle=True, seed=3), "table", arm="version", metrics=parse_metrics(text)
    )
    assert values(units, "ctr") == [[1, 0], [2, 0]]
    assert units.sample("ctr", 0).below.tolist() == [3, 1]
    assert values(units, "clicker") == [[1, 0], [1, 0]]
    assert values(units, "dwell") == [[35, 7], [6, 8.5]]
    assert values(units, "events") == [[3, 1], [3, 2]]
    assert values(units, "sessions") == [[2, 1], [2, 1]]
    assert values(units, "session_length") == [[150, 0], [29 * 60 / 2, 20]]
    assert values(units, "returned") == [[1, 0], [0, 1]]
    assert "9 rows became 4 users" in units.notes[0]
    assert [m.kind for m in units.metrics][1] == "conversion"


def test_every_estimator_through_the_front_door():
    found = tv.ab_test(users_table(), arm="arm", metrics=ALL, resamples=500)
    assert found.table().shape == (16, 16)
    for one in found.comparisons:
        assert one.low <= one.difference <= one.high
        assert 0 < one.p <= one.p_corrected <= 1
    by_name = {c.metric: c for c in found.comparisons}
    assert by_name["ctr"].difference == by_name["boot"].difference
    assert by_name["boot"].high - by_name["boot"].low == pytest.approx(
        by_name["ctr"].high - by_name["ctr"].low, rel=0.15
    )
    assert np.isnan(by_name["mw"].relative)
    assert any("raw is a raw mean" in warning for warning in found.warnings)


@pytest.mark.parametrize("ids", [True, False])
def test_same_bits_whatever_the_order_of_rows(ids):
    frame = users_table().drop([] if ids else ["user"])
    options = {"arm": "arm", "metrics": ALL, "pre": "seconds_before", "segments": "country", "resamples": 200}
    one = tv.ab_test(frame, **options).record()
    other = tv.ab_test(frame.sample(fraction=1, shuffle=True, seed=5), **options).record()
    assert one == other
    assert tv.ab_test(frame, **options, seed=1).record() != one


def test_events_give_the_same_as_their_sums():
    frame = events_table()
    many = pl.concat([frame.with_columns(pl.col("uid") + f"-{i}") for i in range(20)])
    summed = many.group_by("uid", "version").agg(pl.col("shown", "clicked", "dwell").sum())
    text = "ctr=clicked/shown, dwell:mean=dwell"
    one, other = (tv.ab_test(t, arm="version", metrics=text) for t in (many, summed))
    assert one.comparisons == other.comparisons


def test_input_kinds_agree(tmp_path):
    frame = users_table()
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    want = tv.ab_test(frame, arm="arm", metrics=ALL, resamples=100)
    tables = [frame.lazy(), frame.to_pandas(), frame.to_arrow()]
    for source in [*tables, *(tmp_path / f"t.{kind}" for kind in ("csv", "tsv", "parquet", "jsonl"))]:
        assert tv.ab_test(source, arm="arm", metrics=ALL, resamples=100).comparisons == want.comparisons


def test_ids_of_text_files_stay_as_written(tmp_path):
    """007 and 7 are two users, in two arms."""
    lines = [
        "user,arm,x",
        *(f"{u},{a},{x}" for u, a, x in [("007", "a", 1), ("7", "b", 2), ("8", "a", 5), ("9", "b", 3)]),
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert tv.ab_test(tmp_path / "t.csv", arm="arm", metrics="x:mean").manifest["users"] == 4


def test_usual_metrics_where_none_are_named():
    found = tv.ab_test(users_table(), arm="arm", pre="seconds_before", segments="country")
    assert [str(m) for m in found.metrics] == [
        "ctr:ratio=clicks/impressions", "converted:conversion=converted", "seconds:trimmed(0.1)=seconds",
    ]  # fmt: skip


def test_cuped_reduces_variance_and_says_how_much():
    frame = users_table(2000)
    plain = tv.ab_test(frame, arm="arm", metrics="s:mean=seconds").comparisons[0]
    found = tv.ab_test(frame, arm="arm", metrics="s:mean=seconds,m:median=seconds", pre="seconds_before")
    cuped = found.comparisons[0]
    shrunk = ((cuped.high - cuped.low) / (plain.high - plain.low)) ** 2
    assert cuped.variance_reduction == pytest.approx(1 - shrunk, abs=0.005)
    assert cuped.variance_reduction == pytest.approx(0.5, abs=0.06)  # half of the seconds were there before
    assert "not adjusted: m" in " ".join(found.warnings)
    assert np.isnan(found.comparisons[1].variance_reduction)
    assert f"variance of the difference reduced by s {100 * cuped.variance_reduction:.0f} %" in str(found)


def test_users_without_a_past_are_kept():
    past = pl.when(pl.col("user") % 5 == 0).then(None).otherwise(pl.col("seconds_before"))
    frame = users_table(2000).with_columns(past.alias("seconds_before"))
    found = tv.ab_test(frame, arm="arm", metrics="s:mean=seconds", pre="seconds_before")
    assert found.comparisons[0].n == 2000
    assert 0.25 < found.comparisons[0].variance_reduction < 0.5
    assert "400 users have no seconds_before" in found.notes[0]


def test_arms_that_differed_before_are_said():
    frame = users_table(1000).with_columns(before=pl.col("seconds_before") + 10 * (pl.col("arm") == "b"))
    found = tv.ab_test(frame, arm="arm", metrics="seconds", pre="before")
    assert found.stopped
    assert [(c.name, c.role, c.test) for c in found.imbalances] == [("before", "before", "kruskal-wallis")]
    assert found.verdict.startswith("no verdict: mismatch of the arms in before")


def test_several_arms_are_corrected_together():
    frame = users_table(900, arms="abc")
    found = tv.ab_test(frame, arm="arm", metrics="ctr=clicks/impressions,converted")
    assert [(c.metric, c.arm, c.control) for c in found.comparisons] == [
        ("ctr", "b", "a"), ("ctr", "c", "a"), ("converted", "b", "a"), ("converted", "c", "a"),
    ]  # fmt: skip
    p = sorted(c.p for c in found.comparisons)
    assert min(c.p_corrected for c in found.comparisons) == pytest.approx(min(1, 4 * p[0]))
    plain = tv.ab_test(frame, arm="arm", metrics="ctr=clicks/impressions,converted", correct="none")
    assert [c.p_corrected for c in plain.comparisons] == [c.p for c in found.comparisons]


def test_family_wise_error_with_many_arms_and_metrics():
    """Without any effect, a finding in at most about 5 % of tests, though 9 comparisons are made in each."""
    from trueval.online.ab.comparisons import compare_arms, settle
    from trueval.online.ab.estimates import AbOptions

    metrics = parse_metrics("ctr=clicks/impressions,converted,seconds:trimmed")
    found = 0
    for seed in range(200):
        units = make_units(users_table(400, seed=seed, arms="abcd"), "table", arm="arm", metrics=metrics)
        settled = settle(compare_arms(units, AbOptions())[1], correct="holm", level=0.95, stopped=False)
        found += any(c.verdict != "not shown" for c in settled)
    assert found / 200 <= 0.09  # 5 % and two and a half standard errors


def test_columns_of_arm_user_and_time_are_three():
    frame = pl.DataFrame({"date": ["a"], "uid": [1], "ts": [2]})
    assert ab_columns(frame, arm="date", where="t") == {"arm": "date", "user": "uid", "time": "ts"}
    assert ab_columns(frame.drop("ts"), arm="date", where="t") == {"arm": "date", "user": "uid"}
    several = frame.with_columns(arm=pl.lit("a"))
    assert ab_columns(several, arm="arm", where="t") == {"arm": "arm", "user": "uid"}  # which time is not known
    assert ab_columns(several, arm="arm", time="ts", where="t")["time"] == "ts"


def test_control_is_recognised_or_named():
    frame = users_table().with_columns(arm=pl.col("arm").replace({"a": "new", "b": "Control"}))
    assert tv.ab_test(frame, arm="arm", metrics="converted").arms == ("Control", "new")
    assert tv.ab_test(frame, arm="arm", metrics="converted", control="new").arms == ("new", "Control")


def test_segments_are_compared_within_and_small_ones_left_out():
    frame = users_table()
    found = tv.ab_test(frame, arm="arm", metrics="converted", segments="country")
    assert [(c.segment, c.group) for c in found.segments] == [("country", "at"), ("country", "it")]
    assert "country tiny is left out: one arm has 10 users, at least 30 are needed" in found.notes
    alone = tv.ab_test(frame.filter(pl.col("country") == "at"), arm="arm", metrics="converted")
    assert found.segments[0].difference == alone.comparisons[0].difference
    assert found.segments[0].p == alone.comparisons[0].p
    assert found.segments[0].p_corrected == pytest.approx(min(1, 2 * alone.comparisons[0].p)) or (
        found.segments[0].p > found.segments[1].p
    )
    assert found.table().filter(pl.col("segment") == "country").height == 4


def test_sample_ratio_against_scipy_and_given_shares():
    from scipy.stats import chisquare

    users = {"a": 900, "b": 120, "c": 90}
    found = check_sample_ratio(users, expected_shares={"a": 8, "b": 1, "c": 1})
    reference = chisquare([900, 120, 90], [888, 111, 111])
    assert (found.chi2, found.p) == pytest.approx((reference.statistic, reference.pvalue))
    assert not found.failed
    assert check_sample_ratio(users).failed


def test_a_mismatch_stops_the_verdict_until_it_is_ignored():
    frame = users_table(1000).filter((pl.col("arm") == "a") | (pl.col("user") % 4 == 1))
    found = tv.ab_test(frame, arm="arm", metrics="converted")
    assert found.stopped
    assert found.comparisons[0].verdict == "no verdict"
    assert found.verdict.startswith("no verdict: sample ratio mismatch")
    assert np.isfinite(found.comparisons[0].difference)  # numbers are shown all the same
    ignored = tv.ab_test(frame, arm="arm", metrics="converted", ignore_mismatch=True)
    assert ignored.comparisons[0].verdict != "no verdict"
    assert "was ignored on request" in ignored.verdict
    shares = tv.ab_test(frame, arm="arm", metrics="converted", expected_shares={"a": 2, "b": 1})
    assert not shares.stopped


def test_values_without_spread_are_said():
    frame = users_table().with_columns(x=pl.when(pl.col("user") % 50 == 0).then(7.0).otherwise(2.5))
    found = tv.ab_test(frame, arm="arm", metrics="x:trimmed")
    assert found.comparisons[0].verdict == "not shown"
    assert np.isnan(found.comparisons[0].low)  # an interval from 0 to 0 would say that nothing differs, for sure
    assert "almost all users have the same value" in found.warnings[0]
    assert "no interval, p = 1: the statistic does not vary with the users" in found.verdict
    assert str(tv.ab_test(frame, arm="arm", metrics="x").metrics[0]) == "x:mean=x"


def change(**columns):
    return lambda frame: frame.with_columns(**columns)


FIRST = pl.int_range(pl.len()) == 0
BAD = {
    "no such arm column": (lambda f: f.rename({"arm": "armm"}), {}, "the column given for arm does not exist"),
    "no such metric column": (lambda f: f, {"metrics": "ctr=click/impressions"}, "did you mean clicks"),
    "no such user column": (lambda f: f, {"user": "uid"}, "the column given for user does not exist"),
    "no such past": (lambda f: f, {"pre": "before"}, "for the past"),
    "no such segment": (lambda f: f, {"segments": "land"}, "for segments"),
    "one arm": (lambda f: f.filter(pl.col("arm") == "a"), {}, "there is only one arm"),
    "lone user": (lambda f: f.filter((pl.col("arm") == "a") | (pl.col("user") == 1)), {}, "an arm has a single user"),
    "empty": (lambda f: f.head(0), {}, "the table is empty"),
    "no arm in a row": (change(arm=pl.when(FIRST).then(None).otherwise("arm")), {}, "some rows have no arm"),
    "ids as arms": (lambda f: f, {"arm": "seconds"}, "does not look like arms"),
    "NaN": (change(clicks=pl.when(FIRST).then(float("nan")).otherwise("clicks")), {}, "missing or not finite"),
    "null": (change(impressions=pl.when(FIRST).then(None).otherwise("impressions")), {}, "missing or not finite"),
    "negative": (change(impressions=pl.when(FIRST).then(-1).otherwise("impressions")), {}, "must not be negative"),
    "more clicks": (change(clicks=pl.when(FIRST).then(99).otherwise("clicks")), {}, "more clicks than impressions"),
    "zero denominators": (change(impressions=pl.lit(0), clicks=pl.lit(0)), {}, "every denominator is 0"),
    "zero in an arm": (
        change(
            impressions=pl.when(pl.col("arm") == "b").then(0).otherwise("impressions"),
            clicks=pl.when(pl.col("arm") == "b").then(0).otherwise("clicks"),
        ),
        {}, "undefined in arm b",
    ),
    "two arms": (change(user=pl.when(FIRST).then(1).otherwise("user")), {}, "a user is in two arms"),
    "no id": (change(user=pl.when(FIRST).then(None).otherwise("user")), {}, "user ids are missing"),
    "control": (lambda f: f, {"control": "c"}, "there is no arm 'c'"),
    "constant": (change(x=pl.lit(3)), {"metrics": "x"}, "the same for every user"),
    "constant ratio": (change(clicks=pl.col("impressions")), {}, "the same for every user"),
    "constant past": (change(x=pl.lit(3)), {"pre": "x"}, "a constant column cannot reduce variance"),
    "no conversion": (lambda f: f, {"metrics": "c:conversion=clicks"}, "a conversion is 0 or 1"),
    "words": (lambda f: f, {"metrics": "country"}, "missing or not finite numbers"),
    "no time": (lambda f: f, {"metrics": "returned"}, "counted from the times of events"),
    "bad time": (change(time=pl.lit("noon")), {"metrics": "returned"}, "times are missing"),
    "two user columns": (lambda f: f.with_columns(uid="user"), {}, "more than one column looks like the user"),
    "nothing to compare": (lambda f: f.select("user", "arm"), {"metrics": None}, "nothing to compare"),
    "shares of others": (lambda f: f, {"expected_shares": {"a": 1, "x": 1}}, "an arm that does not exist"),
    "shares of some": (lambda f: f, {"expected_shares": {"a": 1}}, "no expected share"),
    "share 0": (lambda f: f, {"expected_shares": {"a": 1, "b": 0}}, "shares must be above 0"),
    "level": (lambda f: f, {"level": 95}, "level must be from"),
    "correction": (lambda f: f, {"correct": "sidak"}, "unknown correction"),
    "tuning": (lambda f: f, {"sequential": 3}, "100 users or more"),
    "two values of the past": (
        lambda f: pl.concat([f, f.with_columns(pl.col("seconds_before") + 1)]), {"pre": "seconds_before"},
        "must have one value per user",
    ),
    "two segments": (
        lambda f: pl.concat([f, f.with_columns(country=pl.lit("x"))]), {"segments": "country"}, "two segments",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_four_parts(case):
    spoil, options, word = BAD[case]
    options = {"arm": "arm", "metrics": "ctr=clicks/impressions"} | options
    with pytest.raises((DataError, DefinitionError)) as refusal:
        tv.ab_test(spoil(users_table(60)), **options)
    assert word in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "word", "at"),
    [
        ("ctr=clicks/", "a column was expected after /", 11),
        ("=clicks", "a name was expected", 0),
        ("dwell:medain=s", "unknown kind of metric 'medain'", 6),
        ("dwell:trimmed(0.7)=s", "between 0 and 0.5", 14),
        ("dwell:quantile(x)=s", "a number was expected", 15),
        ("dwell:quantile(0.9=s", "a closing bracket", 18),
        ("dwell:median(3)=s", "takes no number", 13),
        ("dwell:median=a/b", "takes one column", 6),
        ("ctr:bootstrap=a", "takes two columns", 4),
        ("a=b=c", "unexpected text", 3),
        ("dwell:=s", "a kind of metric was expected", 6),
    ],
)
def test_grammar_points_at_the_mistake(text, word, at):
    with pytest.raises(DefinitionError) as refusal:
        parse_metrics(text)
    assert word in refusal.value.what
    assert refusal.value.where.split("\n")[1] == " " * at + "^"


def test_grammar():
    text = "ctr = clicks / impressions, t:trimmed(0.2)=my column, q:quantile(0.9)=s, plain, m:median"
    assert [str(m) for m in parse_metrics(text)] == [
        "ctr:ratio=clicks/impressions", "t:trimmed(0.2)=my column", "q:quantile(0.9)=s", "plain=plain", "m:median=m",
    ]  # fmt: skip
    assert parse_metrics({"ctr": "a/b", "d:median": "s"}) == parse_metrics(["ctr=a/b", "d:median=s"])
    with pytest.raises(DefinitionError, match="two metrics have the name"):
        parse_metrics("a=b,a=c")
    with pytest.raises(DefinitionError, match="no metric"):
        parse_metrics(" , ")
