"""Average precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import SETTLED
from trueval.metrics.discount import harmonic, hits_at, share
from trueval.metrics.registry import Parameter, metric
from trueval.metrics.wording import top


def _formula(o: Mapping[str, Any]) -> str:
    hits = f"{top(o)} ∩ Rel"
    wholes = {
        "relevant": "R",
        "min": "min(k, R)" if o["k"] else "R",
        "hits": f"|{hits}|, 0 without hits, undefined if R = 0",
        "k": "k, undefined if R = 0",
        "list": f"min(|{top(o)}|, R), 0 for an empty list, undefined if R = 0",
    }
    return f"Σ over {hits} of (|top(rank) ∩ Rel| / rank) / {wholes[o['denom']]}"


@metric(
    family="accuracy",
    formula=_formula,
    range=(0, 1),
    cutoff="optional",
    parameters={
        "denom": Parameter(
            "relevant",
            ("relevant", "min", "hits", "k", "list"),
            meaning="divide by R, min(k, R), the number of hits, k, or min(length of the list, R)",
            idle=lambda o: "" if o["k"] or o["denom"] != "min" else "without a cutoff, min(k, R) is R",
        )
    },
    undefined="R = 0",
    reference="Buckley & Voorhees 2005",
    aliases=("map",),
)
def ap(facts: RankingFacts, k: int | None, *, denom: str) -> np.ndarray:
    """Mean of the precisions at the ranks of relevant items.

    >>> from trueval.metrics.measure import measure
    >>> round(measure("ap@5", ["A", "B", "C", "D", "E"], {"B", "C", "E", "G"}), 6)
    0.441667
    """
    if denom == "hits":
        value = _mean_over_hits(facts, k)
    else:
        total = _expected_sum(facts, k) if facts.ties == "expected" else _sum(facts, k)
        if denom == "list":
            value = np.nan_to_num(share(total, np.minimum(facts.listed_at(k), facts.R)))
        elif denom == "relevant" or k is None:
            value = share(total, facts.R)
        else:
            value = share(total, np.minimum(k, facts.R)) if denom == "min" else total / k
    return np.where(facts.R > 0, value, np.nan)


def _first_of_unit(unit: np.ndarray) -> np.ndarray:
    """Row at which each row's unit begins."""
    new = np.ones(len(unit), bool)
    new[1:] = unit[1:] != unit[:-1]
    return np.flatnonzero(new)[np.cumsum(new) - 1] if len(unit) else np.arange(0)


def _sum(facts: RankingFacts, k: int | None) -> np.ndarray:
    h = facts.hits
    so_far = np.arange(1, len(h.unit) + 1) - _first_of_unit(h.unit)
    amount = so_far / h.rank
    inside = slice(None) if k is None else h.rank <= k
    return facts.per_unit(h.unit[inside], amount[inside])


class _Blocks(NamedTuple):
    """Equal scores that hold relevant items: `above` them, `tied` with them, `m` relevant within, `c` above."""

    unit: np.ndarray
    above: np.ndarray
    tied: np.ndarray
    m: np.ndarray
    c: np.ndarray


def _blocks(facts: RankingFacts) -> _Blocks:
    h = facts.hits
    new = np.ones(len(h.unit), bool)
    new[1:] = (h.unit[1:] != h.unit[:-1]) | (h.above[1:] != h.above[:-1])
    first = np.flatnonzero(new)
    m, c = np.diff(np.append(first, len(h.unit))), first - _first_of_unit(h.unit)[first]
    return _Blocks(h.unit[first], h.above[first].astype(np.int64), h.tied[first].astype(np.int64), m, c)


def _expected(above: np.ndarray, places: np.ndarray, m: np.ndarray, c: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Expected sum over the first `places` of a block of `size` equals, m of them relevant.

    A hit at place j of the block has c + 1 + (j-1)(m-1)/(size-1) hits up to it in expectation.
    """
    table = harmonic(int((above + places).max(initial=1)))
    inverse = table.upto(above + places) - table.upto(above)  # Σ 1/(above+j) over the places
    behind = places - (above + 1) * inverse  # Σ (j-1)/(above+j)
    others = np.divide(m - 1, size - 1, out=np.zeros(np.broadcast(m, size).shape), where=size > 1)
    return m / size * ((1 + c) * inverse + others * behind)


def _expected_sum(facts: RankingFacts, k: int | None) -> np.ndarray:
    b = _blocks(facts)
    places = b.tied if k is None else np.clip(k - b.above, 0, b.tied)
    return facts.per_unit(b.unit, _expected(b.above, places, b.m, b.c, b.tied))


def _mean_over_hits(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Sum / hits, 0 without a hit. Where the cut splits a block both are random, and not independent."""
    if facts.ties != "expected":
        value = np.nan_to_num(share(_sum(facts, k), hits_at(facts, k)))
        return value if k is None or facts.ties in SETTLED else _furthest(facts, k, value)
    b = _blocks(facts)
    whole = np.ones(len(b.unit), bool) if k is None else b.above + b.tied <= k
    amounts = _expected(b.above[whole], b.tied[whole], b.m[whole], b.c[whole], b.tied[whole])
    total = facts.per_unit(b.unit[whole], amounts)
    value = np.nan_to_num(share(total, facts.per_unit(b.unit[whole], b.m[whole])))
    split = np.zeros(0, np.int64) if k is None else np.flatnonzero(~whole & (b.above < k))
    if k is None or not len(split):
        return value
    unit, above, tied, m, c = (column[split, None] for column in b)
    places = k - above
    h = np.arange(1, min(k, int(m.max())) + 1)  # hits within the split block
    weight = _choose_log(m, h) + _choose_log(tied - m, places - h) - _choose_log(tied, places)
    none = np.exp(_choose_log(tied - m, places) - _choose_log(tied, places))[:, 0]
    found = (total[unit] + _expected(above, places, h, c, places)) / (c + h)
    value[unit[:, 0]] = value[unit[:, 0]] * none + (np.exp(weight) * found).sum(axis=1)
    return value


def _furthest(facts: RankingFacts, k: int, value: np.ndarray) -> np.ndarray:
    """The best (worst) mean over hits: where the cut splits a block, fewer hits within k may be better, or worse."""
    b, h = _blocks(facts), facts.hits
    split = np.flatnonzero((b.above < k) & (b.above + b.tied > k))
    whole = h.above + h.tied <= k
    so_far = np.arange(1, len(h.unit) + 1) - _first_of_unit(h.unit)
    unit, above, tied, m, c = (column[split] for column in b)
    total = facts.per_unit(h.unit[whole], (so_far / h.rank)[whole])[unit]
    places, better = k - above, np.fmax if facts.ties == "best" else np.fmin
    found = np.full(len(split), np.nan)
    inside = np.zeros(len(split))  # what some hits in the block add, the first ones or the last
    for hits in range(int(np.minimum(m, places).max(initial=-1)) + 1):
        if hits and facts.ties == "best":
            inside = inside + (c + hits) / (above + hits)
        elif hits:
            j = np.arange(1, hits + 1)
            inside = ((c[:, None] + j) / np.maximum(k - hits + j, 1)).sum(axis=1)
        possible = (hits <= np.minimum(m, places)) & (places - hits <= tied - m)
        mean = np.nan_to_num(share(total + inside, c + hits))
        found = better(found, np.where(possible, mean, np.nan))
    value = value.copy()
    value[unit] = found
    return value


def _choose_log(n: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Logarithm of the number of ways to choose r of n; -inf where there is none."""
    from scipy.special import gammaln

    possible = (r >= 0) & (r <= n)
    inside = np.where(possible, r, 0)
    n = np.maximum(n, 0)
    return np.where(possible, gammaln(n + 1.0) - gammaln(inside + 1.0) - gammaln(n - inside + 1.0), -np.inf)
