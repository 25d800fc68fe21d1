"""Pairs of items as text: the published table, and what the figures say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from trueval.errors import visible
from trueval.render.numbers import level_percent, percent, rounded, with_interval
from trueval.render.terminal import plain_table, printed

if TYPE_CHECKING:
    from trueval.audit.item_pairs import ItemPairs, Share


class Case(NamedTuple):
    """One of the four cases of the published table."""

    agrees_with: str  # what the popularity of the two items agrees with
    odds: str  # whether the odds of popularity are steeper than that
    optimal_rankings: str  # of observed precision and antiprecision: whether they agree on the two items


CASES = (
    Case("p(rel|train)", "steeper than p(¬rel|train)", "disagree"),
    Case("p(rel|train)", "not steeper than p(¬rel|train)", "agree"),
    Case("p(¬rel|train)", "steeper than p(rel|train)", "disagree"),
    Case("p(¬rel|train)", "not steeper than p(rel|train)", "agree"),
)


def share_text(share: Share) -> str:
    """A share of pairs, with its interval where it has one.

    >>> from trueval.audit.item_pairs import Share
    >>> share_text(Share(0.5262, 0.5262, 0.5262)), share_text(Share(0.5, 0.4951, 0.5049))
    ('52.62 %', '50.00 % [49.51, 50.49]')
    """
    text = percent(share.share, 2)
    return text if share.low == share.high else f"{text} [{100 * share.low:.2f}, {100 * share.high:.2f}]"


def item_pairs_text(found: ItemPairs) -> str:
    """The table, and the figures beside it."""
    rows = [
        [row["agrees_with"], row["odds"], share_text(found.share(row["pairs"])), row["optimal_rankings"]]
        for row in found.table().to_dicts()
    ]
    head = ["popularity agrees with", "odds of popularity", "item pairs", "optimal rankings"]
    table = printed(plain_table(head, rows, align="llrl"))
    return table + "\n" + "\n".join(_lines(found))


def _lines(found: ItemPairs) -> list[str]:
    how = "all pairs" if found.drawn is None else f"{found.drawn:,} pairs drawn at random from {found.pairs:,}"
    relevant = "" if found.threshold is None else f", relevant: value ≥ {found.threshold:g}"
    lines = [
        f"{how} of {found.items:,} items, {found.users:,} users{relevant}",
        f"pairs with equal popularity or equal average rating, in the last row: {share_text(found.tied)}",
        f"optimal rankings of observed precision and antiprecision disagree on {share_text(found.disagree)}; "
        f"Kendall's τ of φ_P and φ_antiP {_r(found.tau)}",
    ]
    known = found.correlations
    lines += [
        f"Pearson's r of {name} with popularity {_r(known[key, 'popularity'])}, with the average rating "
        f"{_r(known[key, 'average'])}"
        for key, name in (("phi_p", "φ_P"), ("phi_antip", "φ_antiP"))
    ]
    lines.append(
        f"popularity and average rating: Pearson's r {_r(found.popularity_and_average)}, Kendall's τ "
        f"{_r(found.popularity_and_average_tau)}"
    )
    a = found.alignment
    liked = with_interval(a.value, a.low, a.high, 3, sign=True).replace("-", "−")
    said = "neither aligned nor opposed for certain" if a.direction == "unclear" else a.direction
    lines.append(f"liked share of ratings less that of items: {liked}; popularity and liking are {said}")
    if found.drawn is not None:
        lines.append(f"in brackets behind shares of pairs: {level_percent(found.level)} intervals for the draw")
    return [visible(line) for line in lines]


def _r(value: float) -> str:
    return "undefined" if value != value else rounded(value)
