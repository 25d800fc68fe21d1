"""Fitting of calibrators on a validation part: Platt's sigmoid and isotonic regression."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trueval.arguments import checked
from trueval.calibration.calibrator import INPUTS, METHODS, Calibrator
from trueval.calibration.losses import check_clip, clipped
from trueval.calibration.predictions import Predictions, check_probabilities, read_predictions
from trueval.calibration.reuse_checks import fingerprint, remembered
from trueval.data.role_names import ColumnMap
from trueval.errors import DataError, DefinitionError, suggest


@checked
def fit_calibrator(
    validation: Any,
    *,
    method: str = "platt",
    input: str = "auto",
    clip: float | None = None,
    columns: ColumnMap | str | None = None,
) -> Calibrator:
    """Fit a calibrator on predictions that are used neither for training nor for testing.

    Parameters
    ----------
    validation : table or file
        A prediction and a label (0 or 1) per row, perhaps a weight.
    method : {"platt", "isotonic"}, default "platt"
        Platt's sigmoid, or isotonic regression.
    input : {"auto", "probability", "score"}, default "auto"
        What predictions are: probabilities (Platt's sigmoid then works on their log odds) or any scores. "auto" takes
        them for probabilities when all lie in [0, 1].
    clip : number, optional
        Keep probabilities this far away from 0 and 1, whose log odds are infinite. Default: no clipping.
    columns : mapping or text, optional
        Column roles that are not clear from common names: {"prediction": "ctr"} or "prediction=ctr,label=bought".

    Returns
    -------
    Calibrator
        The fitted function; `apply` it to predictions, or `save` it.

    Raises
    ------
    TruevalError
        Where all labels or all predictions are equal, and where higher predictions do not go with more positives.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"p": [0.9] * 5 + [0.1] * 5, "y": [1, 1, 1, 0, 0] + [1, 1, 0, 0, 0]})
    >>> fit_calibrator(table, method="isotonic").apply([0.1, 0.5, 0.9]).round(6).tolist()
    [0.4, 0.5, 0.6]
    """
    if method not in METHODS:
        raise DefinitionError(f"unknown method {method!r}", do=suggest(method, METHODS))
    if input not in INPUTS:
        raise DefinitionError(f"unknown input {input!r}", do=suggest(input, INPUTS))
    check_clip(clip)
    data = read_predictions(
        validation, columns=columns, name=None if isinstance(validation, str | Path) else "validation"
    )
    kind = input if input != "auto" else "probability" if data.are_probabilities else "score"
    if kind == "probability":
        check_probabilities(data, do="give probabilities, or set input='score' (--input score)")
    _check_fit_for_fitting(data)
    about = {"name": data.name, "rows": len(data), "positives": data.positives, "fingerprint": fingerprint(data)}
    about |= {"sample": remembered(data)}
    if method == "isotonic":
        return Calibrator(method, kind, knots=_isotonic(data), clip=clip, fitted_on=about)
    slope, intercept = _platt(data, kind, clip)
    return Calibrator(method, kind, slope, intercept, clip=clip, fitted_on=about)


def _check_fit_for_fitting(data: Predictions) -> None:
    weight = data.weights
    if len(np.unique(data.label[weight > 0])) < 2:
        raise DataError(
            "all labels of the validation part are equal",
            where=data.name,
            found=f"{data.positives:,} positives among {len(data):,} rows",
            do="use a larger validation part",
        )
    used = data.value[weight > 0]
    if used[0] == used[-1]:
        raise DataError(
            "all predictions of the validation part are equal",
            where=data.name,
            found=f"{used[0]:g} in {len(used):,} rows",
            do="check the prediction column",
        )


def _platt(data: Predictions, kind: str, clip: float | None) -> tuple[float, float]:
    """Slope and intercept by maximum likelihood, with Platt's targets.

    Targets are (P+1)/(P+2) and 1/(N+2) instead of 1 and 0, P and N being the weights of the two classes:
    Platt's guard against endless slopes on data that a threshold separates.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    x, w = _inputs(data, kind, clip), data.weights / data.weights.sum()
    positives = float(data.weights @ data.label)
    negatives = float(data.weights.sum()) - positives
    target = np.where(data.label == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    middle = float(w @ x)
    spread = float(np.sqrt(w @ (x - middle) ** 2))
    z = (x - middle) / spread  # so that both parameters are of one size

    def loss(ab: np.ndarray) -> tuple[float, np.ndarray]:
        s = ab[0] * z + ab[1]
        miss = w * (expit(s) - target)
        return float(w @ (np.logaddexp(0, s) - target * s)), np.array([miss @ z, miss.sum()])

    def curvature(ab: np.ndarray) -> np.ndarray:
        q = expit(ab[0] * z + ab[1])
        h = w * q * (1 - q)
        hz = h * z
        return np.array([[hz @ z, hz.sum()], [hz.sum(), h.sum()]])

    share = positives / (positives + negatives)
    begin = np.array([0.0, np.log(share / (1 - share))])
    found = minimize(
        loss, begin, jac=True, hess=curvature, method="trust-exact", options={"gtol": 1e-10, "maxiter": 200}
    )
    if not np.abs(found.jac).max() < 1e-6:
        raise DataError(
            "Platt's sigmoid could not be fitted",
            where=data.name,
            found=f"no minimum after {found.nit} steps",
            do="look for predictions of enormous size, or use method='isotonic'",
        )
    slope = float(found.x[0]) / spread
    if not slope > 0:
        raise DataError(
            "higher predictions go with fewer positives",
            where=data.name,
            found=f"Platt's slope is {slope:.4g}; calibrating would turn the ranking upside down",
            do="check that the label is 1 for events that happened, and that a higher prediction means more likely",
        )
    return slope, float(found.x[1]) - slope * middle


def _inputs(data: Predictions, kind: str, clip: float | None) -> np.ndarray:
    """What the sigmoid works on: scores as they are, or log odds, which must be finite."""
    if kind == "score":
        return data.value
    from scipy.special import logit

    extreme = int(((data.value == 0) | (data.value == 1)).sum())
    if extreme and clip is None:
        raise DataError(
            "the log odds of probabilities that are exactly 0 or 1 are infinite",
            where=data.name,
            found=f"{extreme:,} of {len(data):,} rows",
            do="clip them with clip=1e-6 (--clip 1e-6), or use method='isotonic'",
        )
    return np.asarray(logit(clipped(data.value, clip)))


def _isotonic(data: Predictions) -> np.ndarray:
    """Knots of the rising step function that is closest to the labels: both ends of every level."""
    from scipy.optimize import isotonic_regression

    first = data.first_of_ties
    x = data.value[first]
    weight = np.add.reduceat(data.weights, first)
    hits = np.add.reduceat(data.weights * data.label, first)
    x, weight, hits = (a[weight > 0] for a in (x, weight, hits))
    fitted = isotonic_regression(hits / weight, weights=weight)
    ends = np.unique(np.concatenate([fitted.blocks[:-1], fitted.blocks[1:] - 1]))
    level = np.clip(fitted.x[ends], 0, 1)
    if level[0] == level[-1]:
        raise DataError(
            "higher predictions do not go with more positives",
            where=data.name,
            found=f"the rising function closest to the labels is constant, {level[0]:.4g}",
            do="check that the label is 1 for events that happened, and that a higher prediction means more likely",
        )
    return np.stack([x[ends], level], axis=1)
