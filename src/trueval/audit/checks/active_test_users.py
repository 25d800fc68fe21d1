"""A test set of heavy users: values that say nothing about users with few rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from trueval.audit.case import Case
from trueval.audit.finding import Finding
from trueval.audit.registry import check
from trueval.audit.subject import Subject
from trueval.comparison.pairing import shares_of, user_codes
from trueval.render.numbers import number, short_percent

_NAME, _HEADING = "active_test_users", "data"
_LOW = 0.05  # of the test users have fewer train rows than the users that the test set reaches
_HALF = 0.5  # of the users of train, whom the test set does not reach
_USERS = 20


@check(heading=_HEADING, kind="fact", needs=("parts",), question="Are the test users like the others?")
def active_test_users(case: Case) -> Iterable[Finding]:
    """How many users of train have fewer train rows than nearly all test users."""
    assert case.given is not None  # the need
    rows = case.given.train.frame.group_by("user").len("rows")
    tested = case.given.test.frame.select(pl.col("user").unique())
    everyone = rows["rows"].to_numpy()
    of_test = rows.join(tested, on="user", how="semi")
    if len(of_test) < _USERS:
        return
    own = of_test["rows"].to_numpy()
    least = float(np.quantile(own, _LOW, method="lower"))
    beyond = float((everyone < least).mean())
    figures = {
        "train_rows_of_test_users": float(np.median(own)), "train_rows_of_all_users": float(np.median(everyone)),
        "least": least, "users_with_fewer": beyond,
    }  # fmt: skip
    median = f"{np.median(own):g} train rows (median), and all users of train {np.median(everyone):g}"
    if beyond < _HALF:
        sentence = f"The test set reaches users with few rows as well: its users have {median}."
        yield Finding(_NAME, _HEADING, "fine", "fact", sentence, figures)
        return
    effect = "" if case.subject is None else _by_activity(case.subject, of_test, figures)
    sentence = (
        f"{effect}Values are those of heavy users alone: test users have {median}, and {short_percent(beyond)} of the "
        f"users of train have fewer than {least:g} rows, as hardly any test user has. What systems do for them is not "
        "measured."
    )
    remedy = (
        "draw the test users from all users of train (trueval split … --how holdout --by user), or say that values are "
        "about heavy users"
    )
    yield Finding(_NAME, _HEADING, "caution", "fact", sentence, figures, remedy)


def _by_activity(subject: Subject, rows: pl.DataFrame, figures: dict) -> str:
    """The value of the best system for the less and for the more active half of the test users."""
    if not subject.labels:
        return ""
    label = subject.labels[0]
    name = subject.best(label, subject.names)
    system, users = subject.base.systems[name], subject.base.joined.users
    activity = np.full(len(users), np.nan)
    codes = users.codes(rows["user"])
    activity[codes[codes >= 0]] = rows["rows"].to_numpy()[codes >= 0]
    values, of_user = shares_of(system.sums[label]), activity[user_codes(system, users)]
    known = ~np.isnan(values) & ~np.isnan(of_user)
    middle = float(np.median(of_user[known])) if known.any() else np.nan
    less, more = known & (of_user < middle), known & (of_user >= middle)
    if not less.any() or not more.any():
        return ""
    halves = float(values[less].mean()), float(values[more].mean())
    figures["value_of_less_and_more_active_half"] = {"system": name, "metric": label, "values": list(halves)}
    return (
        f"{label} of {name} is {number(halves[0])} for the less active half of the test users and {number(halves[1])} "
        "for the other. "
    )
