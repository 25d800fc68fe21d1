"""Off-policy estimates as an HTML page."""

from __future__ import annotations

from trueval.online.ope.render import TRUST, estimate_grid, rests_on
from trueval.online.ope.result import OffPolicy
from trueval.online.ope.weights import ALL
from trueval.render.html_elements import Section, hint, page, section, sentences, warned
from trueval.render.numbers import percent
from trueval.report.findings import listed
from trueval.report.html_charts import figures
from trueval.report.html_comparisons import manifest_foot
from trueval.report.origin import UNKNOWN, Origin


def ope_page(
    found: OffPolicy, *, title: str = "What the other policy would have earned", origin: Origin = UNKNOWN
) -> str:
    """Whether the estimates can be trusted, the estimators side by side, and what they rest on.

    >>> import polars as pl, trueval as tv
    >>> log = pl.DataFrame({"item": ["a", "b"] * 100, "reward": [1, 0] * 100, "propensity": [0.5] * 200})
    >>> policy = pl.DataFrame({"item": ["a", "b"], "probability": [0.8, 0.2]})
    >>> "Can it be trusted" in ope_page(tv.ope(log, policy, estimators="ips"))
    True
    """
    support, m = found.support, found.manifest
    tiles = [
        (found.trust, f"trust: {TRUST[found.trust]}"),
        (f"{support.effective:,.0f}", f"effective sample size, of {support.rows:,} rows"),
        (f"{support.largest:.3g}", "largest weight"),
    ]
    if support.unsupported is not None:
        tiles.append(
            (percent(support.unsupported_here or 0.0, 2), "of what the target policy shows is never in the log")
        )
    columns, rows = estimate_grid(found)
    body = [
        sentences(_verdicts(found)),
        section(Section("Can it be trusted?", tiles=tiles)),
        *warned(found.warnings),
        section(Section("Estimates", figures=figures("ope", found), columns=columns, rows=rows)),
        hint([*rests_on(found), *found.assumptions]),
    ]
    data = f"{m['log']}: {m['rows']:,} rows, {m['items']:,} items; target policy {m['target']}"
    return page(title, body, about=origin.about(data), foot=manifest_foot(dict(m)))


def _verdicts(found: OffPolicy) -> list[str]:
    """What the estimators that are compared with the live policy say, those of one verdict together."""
    by_verdict: dict[str, list[str]] = {}
    for v in found.values:
        if v.scope == ALL and v.verdict:
            by_verdict.setdefault(v.verdict, []).append(v.estimator)
    texts = {
        "higher": "the target policy earns more than the live one",
        "lower": "the target policy earns less than the live one",
        "not shown": "there is no significant difference between the target policy and the live one",
    }
    return [f"By {listed(names)}, {texts[verdict]}." for verdict, names in by_verdict.items()]
