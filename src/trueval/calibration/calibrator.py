"""A calibrator: a rising function from predictions to probabilities, fitted elsewhere and kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.calibration.losses import clipped
from trueval.data.failures import reading
from trueval.data.json_values import parse_json
from trueval.data.places import check_not_special
from trueval.data.writing import write_whole
from trueval.errors import DataError, visible
from trueval.render.shown import Shown

METHODS = ("platt", "isotonic")
INPUTS = ("auto", "probability", "score")
_VERSION = 1


@dataclass(frozen=True)
class Calibrator(Shown):
    """A rising function from predictions to probabilities, as `fit_calibrator` found it.

    Main methods: `apply`, `save` and `load`, `to_json` and `from_json`.

    Attributes
    ----------
    method : {"platt", "isotonic"}
        platt: sigmoid(slope·x + intercept), x the prediction (input "score") or its log odds (input "probability"). The
        slope is positive, so that the ranking stays as it is.
        isotonic: straight lines between knots that never fall. Inside a flat piece different predictions become equal:
        the ranking is kept, but ties appear. Outside the fitted range the nearest knot counts.
    input : {"probability", "score"}
        What predictions it takes.
    slope, intercept : number
        Of Platt's sigmoid.
    knots : array
        Of isotonic regression: prediction and probability, a row per knot.
    clip : number or None
        How far probabilities are kept away from 0 and 1.
    fitted_on : mapping
        What it was fitted on: name, rows, positives and a fingerprint, by which the same table is refused as a test.

    Examples
    --------
    >>> bent = Calibrator("platt", "probability", slope=0.5)
    >>> bent.apply([0.2, 0.5, 0.8]).round(4).tolist()
    [0.3333, 0.5, 0.6667]
    """

    method: str
    input: str
    slope: float = float("nan")
    intercept: float = 0.0
    knots: np.ndarray = field(default_factory=lambda: np.empty((0, 2)), repr=False)  # prediction, probability
    clip: float | None = None
    fitted_on: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, predictions: Any) -> np.ndarray:
        """Calibrated probabilities of some predictions, in their order.

        Parameters
        ----------
        predictions : list, array or Series of numbers
            Finite, and in [0, 1] where the calibrator takes probabilities.

        Returns
        -------
        array
            The probabilities.
        """
        values = self._checked(predictions)
        if self.method == "isotonic":
            return np.asarray(np.interp(values, self.knots[:, 0], self.knots[:, 1]))
        from scipy.special import expit, logit

        x = logit(clipped(values, self.clip)) if self.input == "probability" else values
        return np.asarray(expit(self.slope * x + self.intercept))

    def _checked(self, predictions: Any) -> np.ndarray:
        series = predictions if isinstance(predictions, pl.Series) else pl.Series(np.asarray(predictions))
        try:
            values = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
        except pl.exceptions.PolarsError:
            raise DataError("predictions must be numbers", found=f"type {series.dtype}") from None
        wrong = ~np.isfinite(values)
        if wrong.any():
            raise DataError(
                "predictions must be finite numbers",
                found=f"{int(wrong.sum()):,} of {len(values):,}, first at index {int(np.flatnonzero(wrong)[0])}",
            )
        if self.input == "probability" and len(values) and not (values.min() >= 0 and values.max() <= 1):
            raise DataError(
                "this calibrator takes probabilities",
                found=f"values from {values.min():g} to {values.max():g}",
                do="give probabilities, or fit with input='score'",
            )
        return values

    def __str__(self) -> str:
        about = self.fitted_on
        fitted = f", fitted on {about['name']} ({about.get('rows', 0):,} rows)" if about.get("name") else ""
        return visible(f"{self.method}{fitted}: {self.description}")

    @property
    def description(self) -> str:
        """The function in words."""
        if self.method == "isotonic":
            levels = len(np.unique(self.knots[:, 1]))
            return f"isotonic regression with {levels:,} levels; ranking kept, but ties appear inside a level"
        x = "log odds of p" if self.input == "probability" else "score"
        change = ""
        if self.input == "probability":
            change = (
                "; slope below 1: the predictions were overconfident"
                if self.slope < 1
                else "; slope above 1: the predictions were underconfident"
            )
        sign = "−" if self.intercept < 0 else "+"
        return f"sigmoid({self.slope:.4g} · {x} {sign} {abs(self.intercept):.4g}){change}; ranking kept"

    def to_dict(self, *, sample: bool = True) -> dict[str, Any]:
        """As plain data; with or without the sample of rows by which those of the fit are recognised."""
        record: dict[str, Any] = {
            "trueval": "calibrator",
            "version": _VERSION,
            "method": self.method,
            "input": self.input,
        }
        if self.method == "platt":
            record |= {"slope": self.slope, "intercept": self.intercept}
        else:
            record |= {"knots": self.knots.tolist()}
        about = {key: value for key, value in self.fitted_on.items() if sample or key != "sample"}
        return record | {"clip": self.clip, "fitted_on": about}

    def to_json(self) -> str:
        """As text.

        >>> again = Calibrator.from_json(Calibrator("platt", "score", slope=2.0, intercept=-1.0).to_json())
        >>> again.slope, again.intercept
        (2.0, -1.0)
        """
        return json.dumps(self.to_dict(), indent=1)

    @staticmethod
    def from_json(text: str, *, where: str = "calibrator") -> Calibrator:
        """From text, checked: what is read must still be a rising function."""
        try:
            record = parse_json(text)
            if (
                record["trueval"] != "calibrator"
                or record["method"] not in METHODS
                or record["input"] not in INPUTS[1:]
            ):
                raise ValueError("not a calibrator of trueval")
            if record["version"] != _VERSION:
                raise ValueError(f"version {record['version']}")
            made = Calibrator(
                record["method"],
                record["input"],
                float(record.get("slope", "nan")),
                float(record.get("intercept", 0)),
                np.array(record.get("knots", []), np.float64).reshape(-1, 2),
                record["clip"],
                record["fitted_on"],
            )
            made._check_rising()
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise DataError(
                "this is not a calibrator",
                where=where,
                found=f"no field {error}" if isinstance(error, KeyError) else str(error),
                do="give a file written by Calibrator.save (trueval calibrate --save)",
            ) from error
        return made

    def _check_rising(self) -> None:
        if self.method == "platt" and not (self.slope > 0 and np.isfinite([self.slope, self.intercept]).all()):
            raise ValueError(f"slope {self.slope}, intercept {self.intercept}")
        if self.method == "isotonic":
            x, y = self.knots.T
            inside = np.isfinite(self.knots).all() and len(x) and (y >= 0).all() and (y <= 1).all()
            if not (inside and (np.diff(x) > 0).all() and (np.diff(y) >= 0).all()):
                raise ValueError("the knots do not rise")

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all.

        Parameters
        ----------
        path : path
            The file to write.
        """
        write_whole(path, self.to_json() + "\n", what="the calibrator could not be written")

    @staticmethod
    def load(path: str | Path) -> Calibrator:
        """Read one that was saved.

        Parameters
        ----------
        path : path
            The file that `save` wrote.

        Returns
        -------
        Calibrator
            The same function, checked to rise.
        """
        check_not_special(Path(path))
        with reading(path, what="a calibrator"):
            text = Path(path).read_text(encoding="utf-8")
        return Calibrator.from_json(text, where=str(path))
