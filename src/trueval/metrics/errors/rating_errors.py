"""Errors of predicted ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueval.errors import DefinitionError
from trueval.facts.ranking_facts import RankingFacts
from trueval.forks import needs_threads
from trueval.metrics.metric_values import Ratio
from trueval.metrics.registry import Parameter, metric

_AVERAGE = Parameter("micro", ("micro", "macro"), meaning="over all pairs, or per user and then over users")
_UNDEFINED = "a user without predicted ratings"
_REFERENCE = "Herlocker et al. 2004"


def _mean(o: Mapping[str, Any], loss: str, *, root: bool = False) -> str:
    mean = f"{'root of the ' if root else ''}mean"
    if o["average"] == "micro":
        return f"{mean} over all pairs of {loss}"
    return f"mean over users of the {mean} over the user's pairs of {loss}"


def _errors(facts: RankingFacts, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Unit and error of every judged pair that has a prediction."""
    if facts.score is None:
        raise DefinitionError(
            f"{metric} needs predicted ratings", do="use trueval.rating_error, or a system that scores"
        )
    known = np.isfinite(facts.score)
    return facts.unit[known], facts.score[known].astype(np.float64) - facts.value[known]


def _averaged(facts: RankingFacts, unit: np.ndarray, loss: np.ndarray, average: str) -> np.ndarray | Ratio:
    ratio = Ratio(facts.per_unit(unit, loss), facts.per_unit(unit))
    return ratio if average == "micro" else ratio.per_unit()


@metric(
    family="errors", formula=lambda o: _mean(o, "|predicted - actual|"), range=(0, np.inf), better="lower",
    cutoff="none", parameters={"average": _AVERAGE}, undefined=_UNDEFINED, reference=_REFERENCE,
)  # fmt: skip
def mae(facts: RankingFacts, k: None, *, average: str) -> np.ndarray | Ratio:
    """Mean absolute error of predicted ratings.

    >>> from trueval.metrics.errors.rating_errors import rating_error
    >>> rating_error("mae", [4, 2, 5, 3], [5, 2, 3, 3])
    0.75
    """
    unit, error = _errors(facts, "mae")
    return _averaged(facts, unit, np.abs(error), average)


@metric(
    family="errors", formula=lambda o: _mean(o, "(predicted - actual)²"), range=(0, np.inf), better="lower",
    cutoff="none", parameters={"average": _AVERAGE}, undefined=_UNDEFINED, reference=_REFERENCE,
)  # fmt: skip
def mse(facts: RankingFacts, k: None, *, average: str) -> np.ndarray | Ratio:
    """Mean squared error of predicted ratings.

    >>> from trueval.metrics.errors.rating_errors import rating_error
    >>> rating_error("mse", [4, 2, 5, 3], [5, 2, 3, 3])
    1.25
    """
    unit, error = _errors(facts, "mse")
    return _averaged(facts, unit, error**2, average)


@metric(
    family="errors", formula=lambda o: _mean(o, "(predicted - actual)²", root=True), range=(0, np.inf), better="lower",
    cutoff="none", parameters={"average": _AVERAGE}, undefined=_UNDEFINED, reference=_REFERENCE,
)  # fmt: skip
def rmse(facts: RankingFacts, k: None, *, average: str) -> np.ndarray | Ratio:
    """Root mean squared error of predicted ratings.

    >>> from trueval.metrics.errors.rating_errors import rating_error
    >>> round(rating_error("rmse", [4, 2, 5, 3], [5, 2, 3, 3]), 6)
    1.118034
    """
    unit, error = _errors(facts, "rmse")
    ratio = Ratio(facts.per_unit(unit, error**2), facts.per_unit(unit), np.sqrt)
    return ratio if average == "micro" else ratio.per_unit()


@needs_threads
def rating_error(metric: str, predicted: object, actual: object, *, users: object = None) -> float:
    """Compute MAE, MSE or RMSE of predictions against ratings, pair by pair.

    Parameters
    ----------
    metric : text
        "mae", "mse" or "rmse"; with `users`, "rmse[average=macro]" is the mean of users' own errors.
    predicted : list or array of numbers
        The predicted ratings.
    actual : list or array of numbers
        The ratings, in the same order.
    users : list or array of ids, optional
        The user of each pair. Default: all pairs are of one user.

    Returns
    -------
    float
        The error, on the scale of the ratings (of their squares for "mse").

    Raises
    ------
    TruevalError
        For lists of different lengths, and values that are not finite.

    Examples
    --------
    >>> rating_error("mae[average=macro]", [4, 2, 5], [5, 2, 3], users=["a", "a", "b"])
    1.25
    """
    from trueval.metrics.compute import compute
    from trueval.metrics.grammar import parse
    from trueval.metrics.metric_inputs import Inputs
    from trueval.metrics.prediction_pairs import pair_facts

    return compute(parse(metric), pair_facts(predicted, actual, users), Inputs()).value()
