"""How the tie rules concern a metric: what has an exact value, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.equal_scores import split_lists, tied_lists, unknown_lists
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.tie_rules import SETTLED
from trueval.metrics.spec import Spec


def check_ties(spec: Spec, facts: RankingFacts) -> None:
    """Refuse a metric that has no exact value under the tie rule, where equal scores make a difference to it.

    How they do is declared in the metric's record (see `registry.metric`).
    """
    if facts.ties in SETTLED:
        return
    how = spec.metric.ties(spec.parameters) if callable(spec.metric.ties) else spec.metric.ties
    checks = _EXPECTED if facts.ties == "expected" else _DIRECTED if spec.better != "neither" else _UNDIRECTED
    if how in checks:
        find, reason = checks[how]
        units = find(facts, spec.k)
        if len(units):
            _refuse(spec, facts, units, reason)


def _refuse(spec: Spec, facts: RankingFacts, units: np.ndarray, reason: str) -> None:
    user = facts.users.decode(facts.unit_user[units[:1]])[0]
    others = f" and {len(units) - 1:,} other lists" if len(units) > 1 else ""
    neither = (
        " (neither high nor low values are better)" if facts.ties != "expected" and spec.better == "neither" else ""
    )
    raise DefinitionError(
        f"{spec} has no exact value under ties={facts.ties}{neither}",
        found=f"user {user!r}{others}: {reason.format(k=spec.k)}",
        do="leave this metric out, use ties=random (or the mean of several seeds), or give scores without ties",
    )


def _relevant_among_equals(facts: RankingFacts, k: int | None) -> np.ndarray:
    """Units with a relevant item whose place within k is open."""
    open_ = facts.relevant & (facts.tied > 1) & (facts.above < (k or np.inf))
    return np.unique(facts.unit[open_])


_Check = tuple[Callable[[RankingFacts, "int | None"], np.ndarray], str]
_SPLIT: _Check = split_lists, "there are ties at rank {k}"
_TIED: _Check = tied_lists, "there are ties within the ranks that count"
_UNKNOWN: _Check = unknown_lists, "items tied with the first {k} are missing from the truncated list"
_RELEVANT: _Check = _relevant_among_equals, "relevant items are tied with other items"
# What is refused, and where, by what a metric declares.
_ALWAYS: dict[str, _Check] = {"set": _SPLIT, "order": _TIED, "relevant order": _RELEVANT}
_EXPECTED = {**_ALWAYS, "linear": _UNKNOWN, "anyone": _UNKNOWN}
_DIRECTED = {**_ALWAYS, "linear": _UNKNOWN, "anyone": _SPLIT}
_UNDIRECTED = {**_ALWAYS, "linear": _SPLIT, "anyone": _SPLIT, "judged": _SPLIT}
