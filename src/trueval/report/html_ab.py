"""An A/B test as sections of an HTML page, and as a page of its own."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.online.ab.render import describe_control, foot, rows, visible_columns
from trueval.online.ab.result import AbTest
from trueval.online.ab.sentences import comparison_sentence
from trueval.render.html_elements import Section, hint, page, section, sentences, warned
from trueval.render.numbers import p_value, percent
from trueval.report.html_charts import figures
from trueval.report.html_comparisons import manifest_foot
from trueval.report.origin import UNKNOWN, Origin

_MOST_CHECKS = 30
_MOST_SENTENCES = 8  # about single comparisons


def ab_sections(found: AbTest) -> list[Section]:
    """The sample ratio, all differences, one section per column of segments, and the balance of the arms.

    >>> import polars as pl, trueval as tv
    >>> table = pl.DataFrame({"arm": ["a", "b"] * 200, "bought": [0, 1, 1, 1, 0, 0, 0, 1] * 50})
    >>> [section.title for section in ab_sections(tv.ab_test(table, arm="arm", metrics="bought"))]
    ['Sample ratio', 'Differences']
    """
    ratio = found.sample_ratio
    total = sum(ratio.users.values())
    tiles = [
        (f"{n:,}", f"users in {arm}: {percent(n / total, 2)}, expected {percent(ratio.expected[arm], 2)}")
        for arm, n in ratio.users.items()
    ]
    state = "wrong" if ratio.failed else "ok"
    check = [[f"{ratio.chi2:.2f}", p_value(ratio.p), f"{ratio.threshold:g}", state]]
    sections = [
        Section("Sample ratio", tiles=tiles, columns=["χ²", "p", "wrong below", "check"], rows=check),
        _table_section("Differences", found, "", figures("ab_test", found)),
    ]
    asked = [column for column in found.manifest["segments"] if any(c.segment == column for c in found.segments)]
    sections += [_table_section(f"By {column}", found, column) for column in asked]
    return sections + _balance_section(found)


def _balance_section(found: AbTest) -> list[Section]:
    """The checks with the lowest p; those of columns nobody asked about are marked."""
    checks = sorted(found.balance, key=lambda check: (not check.failed, check.p))
    rows = [
        [
            c.name + (f" {c.group}" if c.group else "") + ("" if c.asked else " (not asked for)"),
            c.test, c.detail, p_value(c.p_corrected), f"{c.threshold:g}", "wrong" if c.failed else "ok",
        ]
        for c in checks[:_MOST_CHECKS]
    ]  # fmt: skip
    title = "Balance of the arms"
    if len(checks) > _MOST_CHECKS:
        title += f": {_MOST_CHECKS} of {len(checks)} checks, lowest p first"
    columns = ["column", "test", "largest gap", "p (Holm)", "wrong below", "check"]
    return [Section(title, columns=columns, rows=rows)] if rows else []


def _table_section(title: str, found: AbTest, segment: str, drawn: Sequence[str] = ()) -> Section:
    names = visible_columns(found, segment)
    cells = [[row[name] for name in names] for row in rows(found, segment)]
    return Section(title, figures=drawn, columns=names, rows=cells)


def _told(found: AbTest) -> list[str]:
    """The verdict; of many comparisons only those that show a difference one by one, the others by number."""
    if found.stopped or len(found.comparisons) <= _MOST_SENTENCES:
        return found.verdict.split("\n")
    every = [comparison_sentence(c, found) for c in found.comparisons]
    begin = found.verdict.removesuffix("\n".join(every))
    told = [line for c, line in zip(found.comparisons, every) if c.verdict != "not shown"]
    for metric in dict.fromkeys(c.metric for c in found.comparisons):
        own = [c for c in found.comparisons if c.metric == metric]
        open_ = [c for c in own if c.verdict == "not shown"]
        if open_:
            arms = f"{len(open_)} of" if len(open_) < len(own) else "any of the"
            arms = f"{arms} {len(own)} arms" if len(own) > 1 else open_[0].arm
            told.append(f"{metric}: there is no significant difference between {arms} and {open_[0].control}.")
    return [*begin.splitlines(), *told]


def ab_page(found: AbTest, *, title: str = "A/B test", origin: Origin = UNKNOWN) -> str:
    """A page that needs nothing else: the verdict in sentences, the sections, and what the numbers rest on."""
    body = [
        sentences(_told(found)),
        hint([describe_control(found)]),
        *map(section, ab_sections(found)),
        hint(foot(found)),
        *warned(found.warnings),
    ]
    users = sum(found.sample_ratio.users.values())
    about = origin.about(f"{users:,} users in {len(found.arms)} arms, {len(found.metrics)} metrics")
    return page(title, body, about=about, foot=manifest_foot({**found.manifest, "definitions": found.definitions}))
