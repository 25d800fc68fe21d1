"""One audit of several folds or seeds: facts are counted in all of them, estimates must hold in most.

Repeats of one log are not independent: folds share train rows, and seeds everything. Twice the median of their p-values
is a p-value whatever the dependence (Rüger 1978), so that an alarm takes about half of the repeats, and means what one
repeat alone would mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from trueval.audit.finding import VERDICTS, Draft, Finding

Found = Finding | Draft


def combine_repeats(by_repeat: Mapping[str, Sequence[Found]]) -> list[Found]:
    """What one check found in each repeat, as one: findings and drafts in the order in which repeats have them.

    >>> fine, wrong = (Finding("seen_items", "data", verdict, "fact", "So.") for verdict in ("fine", "wrong"))
    >>> [one.sentence for one in combine_repeats({"fold 1": [fine], "fold 2": [wrong]})]
    ['So. (fold 2; in 1 of 2 repeats)']
    """
    if len(by_repeat) == 1:
        return list(next(iter(by_repeat.values())))
    combined: list[Found] = []
    for column in zip_longest(*by_repeat.values()):
        own = {name: one for name, one in zip(by_repeat, column) if one is not None}
        drafts = {name: one for name, one in own.items() if isinstance(one, Draft)}
        findings = {name: one for name, one in own.items() if isinstance(one, Finding)}
        if findings:
            combined.append(_worst(findings, len(by_repeat)))
        for alike in _alike(drafts):
            combined.append(_drafted(alike, len(by_repeat)))
    return combined


def median_p(p: np.ndarray) -> np.ndarray:
    """Twice the median of several p-values, at most 1; rows are repeats. NaN where most repeats have none.

    >>> median_p(np.array([[0.01, 0.2], [0.02, 0.9], [0.5, np.nan]])).tolist()
    [0.04, 1.0]
    """
    filled = np.where(np.isnan(p), np.inf, p)
    middle = np.sort(filled, axis=0)[p.shape[0] // 2]  # the upper one of two
    return np.where(np.isinf(middle), np.where(np.isnan(p).all(axis=0), np.nan, 1.0), np.minimum(1.0, 2 * middle))


def _worst(findings: Mapping[str, Finding], repeats: int) -> Finding:
    """The most severe finding, and in how many repeats it is as severe."""
    worst = min((one.verdict for one in findings.values()), key=VERDICTS.index)
    alike = [name for name, one in findings.items() if one.verdict == worst]
    first = findings[alike[0]]
    if len(alike) == repeats and all(one.sentence == first.sentence for one in findings.values()):
        return first
    many = f"in all {repeats} repeats" if len(alike) == repeats else f"in {len(alike)} of {repeats} repeats"
    return replace(
        first, sentence=f"{first.sentence} ({alike[0]}; {many})", figures={**first.figures, "repeats": alike}
    )


def _alike(drafts: Mapping[str, Draft]) -> list[dict[str, Draft]]:
    """Drafts that test equally many things, which are the same ones."""
    sizes = dict.fromkeys(len(one.p) for one in drafts.values())
    return [{name: one for name, one in drafts.items() if len(one.p) == size} for size in sizes]


def _drafted(drafts: Mapping[str, Draft], repeats: int) -> Draft:
    """One draft with the p-values of all repeats, in the words of a repeat in the middle."""
    p = np.array([one.p for one in drafts.values()], float)
    if p.shape[1] == 0:
        return next(iter(drafts.values()))
    least = np.array([np.nanmin(row) if not np.isnan(row).all() else np.inf for row in p])
    name = list(drafts)[int(np.argsort(least, kind="stable")[len(least) // 2])]
    return Draft(median_p(p), _named(drafts[name].conclude, name, len(drafts), repeats))


def _named(
    conclude: Callable[[np.ndarray], Finding], name: str, tested: int, repeats: int
) -> Callable[[np.ndarray], Finding]:
    def concluded(q: np.ndarray) -> Finding:
        found = conclude(q)
        many = f"all {repeats} repeats" if tested == repeats else f"{tested} of {repeats} repeats"
        return replace(found, sentence=f"{found.sentence} ({name}; tested over {many})")

    return concluded
