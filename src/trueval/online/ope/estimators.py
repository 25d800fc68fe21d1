"""The estimators, each as ratios of sums over independent clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trueval.online.ope.context_model import case_features, fit_regression
from trueval.online.ope.intervals import Ratios
from trueval.online.ope.log_rows import LogRows
from trueval.online.ope.policy import Policy
from trueval.online.ope.rewards import RewardModel, expected, fit_cells, folds
from trueval.online.ope.weights import ALL, SLATE, Weighting
from trueval.progress import progress

DEFINITIONS = {
    "naive": "mean reward of the log: the live policy's own value",
    "ips": "mean of weight × reward, weight = target probability / propensity",
    "snips": "Σ weight × reward / Σ weight",
    "clipped": "mean of min(weight, clip) × reward; lacks what clipping cuts off",
    "dm": "direct method: mean over rows of Σ target probability × modelled reward",
    "dr": "doubly robust: direct method + mean of weight × (reward - modelled reward), modelled on other folds",
    "sndr": "doubly robust with the weights normalised to mean 1",
}
DEFAULT = ("ips", "snips", "clipped", "dm", "dr")


@dataclass(frozen=True)
class Modelled:
    """What the reward models say about each row, and about what the policy would have shown instead."""

    whole: np.ndarray  # expected reward under the policy, fitted on all rows
    pulls: np.ndarray | None  # positions × rows, how the fit moves it
    residual: np.ndarray  # reward - modelled, fitted on all rows
    crossed: np.ndarray  # expected reward under the policy, fitted on other folds
    crossed_residual: np.ndarray
    constant: bool = False  # all items are expected to earn the same
    bare: Modelled | None = None  # the model without shrinkage, where dm has an interval


def modelled(rows: LogRows, policy: Policy, context: Sequence[str], *, names: Sequence[str], seed: int) -> Modelled:
    """Fit the reward model on all rows and, for doubly robust estimates, on all but each fold."""
    fold = folds(rows, seed=seed) if {"dr", "sndr"} & set(names) else np.zeros(len(rows), np.int64)
    features = case_features(rows, context) if context else None

    def fit(used: np.ndarray | None) -> RewardModel:
        return fit_cells(rows, used) if features is None else fit_regression(rows, features, used)

    whole = fit(None)
    others: list[RewardModel] = [whole]
    if fold.max():
        others = []
        with progress("fitting reward models", int(fold.max()) + 1) as step:
            for f in range(int(fold.max()) + 1):
                others.append(fit(fold != f))
                step()
    by_case = expected([whole, *others], rows, policy)
    own = np.stack([model.predict(rows.case, rows.item) for model in (whole, *others)])
    at = np.arange(len(rows))
    found = Modelled(
        by_case[0, rows.case],
        whole.pulls(rows, policy) if "dm" in names else None,
        rows.reward - own[0],
        by_case[1 + fold, rows.case],
        rows.reward - own[1 + fold, at],
        whole.constant,
    )
    if found.pulls is None or found.constant:
        return found
    model, residual = whole.without_shrinkage(rows)
    bare = replace(found, whole=expected([model], rows, policy)[0, rows.case], residual=residual)
    return replace(found, bare=replace(bare, pulls=model.pulls(rows, policy)))


def ratios(name: str, scope: str, weights: Weighting, *, clip: float, model: Modelled | None) -> Ratios:
    """One estimator in one scope."""
    rows = weights.rows
    if name == "naive":
        columns = _naive(scope, weights)
    elif name == "dm":
        assert model is not None
        columns = _direct(scope, weights, model)
    else:
        columns = _weighted(name, scope, weights, clip, model)
    counted = len(rows) if scope in (ALL, SLATE) else int(weights.at(weights.scopes.index(scope) - 1).sum())
    return Ratios.of(*columns, cluster=rows.cluster, rows=counted)


Columns = tuple[list[np.ndarray], list[np.ndarray]]  # numerators and denominators


def _naive(scope: str, weights: Weighting) -> Columns:
    rows = weights.rows
    if scope == ALL:
        return [rows.reward], [np.ones(len(rows))]
    places = range(len(rows.positions)) if scope == SLATE else [weights.scopes.index(scope) - 1]
    masks = [weights.at(place) for place in places]
    return [rows.reward * mask for mask in masks], masks


def _weighted(name: str, scope: str, weights: Weighting, clip: float, model: Modelled | None) -> Columns:
    reward = weights.rows.reward
    above, below = [], []
    for part in weights.parts(scope):
        w = np.minimum(part.weight, clip * part.scale) if name == "clipped" else part.weight
        base = part.base if w.any() else np.zeros(len(w))  # no weight at all: nothing is known, not 0
        if name in ("ips", "clipped", "snips"):
            above.append(w * reward)
            below.append(w * part.norm if name == "snips" else base)
            continue
        assert model is not None
        guess, correction = model.crossed * part.base, w * model.crossed_residual
        if name == "dr":
            above.append(guess + correction)
            below.append(base)
        else:
            above += [guess, correction]
            below += [part.base, w * part.norm]
    return above, below


def _direct(scope: str, weights: Weighting, model: Modelled) -> Columns:
    """The direct method with the noise of its fit: each row adds what its reward does to the model.

    The terms are centred, so that their mean is the modelled value itself.
    """
    rows = weights.rows
    n = len(rows)
    places = range(len(rows.positions))
    pulls = np.zeros((len(places), n)) if model.pulls is None else model.pulls
    if scope == ALL:
        fit = pulls.sum(axis=0) * model.residual
        return [model.whole + fit - fit.mean()], [np.ones(n)]
    chosen = places if scope == SLATE else [weights.scopes.index(scope) - 1]
    terms = np.zeros(n)
    for place in chosen:
        here = weights.at(place)
        value = float((model.whole * here).sum() / here.sum())
        fit = pulls[place] * model.residual
        terms += value + (here * (model.whole - value) + fit - fit.mean()) * n / here.sum()
    return [terms], [np.ones(n)]


def difference(estimate: Ratios, naive: Ratios) -> Ratios:
    """Estimate minus the live policy's value, both from the same clusters."""
    return Ratios(
        np.concatenate([estimate.numerator, naive.numerator]),
        np.concatenate([estimate.denominator, naive.denominator]),
        np.concatenate([estimate.coefficient, -naive.coefficient]),
        estimate.rows,
    )
