"""Corrections of p-values for the number of comparisons that are reported."""

from __future__ import annotations

import numpy as np

from trueval.errors import DefinitionError, suggest

CORRECTIONS = ("holm", "bonferroni", "bh", "none")
NAMES = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini–Hochberg", "none": "uncorrected"}


def corrected(p: np.ndarray, correct: str = "holm") -> np.ndarray:
    """Corrected p-values; undefined ones (NaN) stay undefined and do not count.

    Holm and Bonferroni control the family-wise error rate, "bh" (Benjamini–Hochberg) the false discovery rate.

    >>> corrected(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    >>> corrected(np.array([0.01, 0.04, np.nan]), "bonferroni").tolist()
    [0.02, 0.08, nan]
    """
    check_correction(correct)
    known = ~np.isnan(p)
    result = np.array(p, dtype=np.float64)
    result[known] = _of_known(result[known], correct)
    return result


def check_correction(correct: str) -> None:
    """Refuse a correction that does not exist."""
    if correct not in CORRECTIONS:
        raise DefinitionError(f"unknown correction {correct!r}", do=suggest(correct, CORRECTIONS))


def _of_known(p: np.ndarray, correct: str) -> np.ndarray:
    m = len(p)
    if correct == "none" or not m:
        return p
    if correct == "bonferroni":
        return np.minimum(p * m, 1)
    order = np.argsort(p, kind="stable")
    if correct == "holm":
        steps = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
    else:
        rising = p[order] * m / np.arange(1, m + 1)
        steps = np.minimum.accumulate(rising[::-1])[::-1]
    result = np.empty(m)
    result[order] = np.minimum(steps, 1)
    return result
