"""Small tables of predictions for the tests of calibration, and strategies that draw them."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import strategies as st

# The documents' example: two bins of five.
TOY = pl.DataFrame({"p": [0.8] * 5 + [0.2] * 5, "y": [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]})


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def world(n: int, seed: int, *, slope: float = 1.0, intercept: float = 0.0, users: int = 30, first: int = 0):
    """Predictions whose true log odds are slope · (log odds of the prediction) + intercept."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-0.5, 1.3, n)
    y = rng.random(n) < sigmoid(slope * x + intercept)
    user = rng.integers(0, users, n) + first
    return pl.DataFrame({"user": user, "item": np.arange(n), "prediction": sigmoid(x), "label": y.astype(np.int64)})


# Probabilities on a coarse grid, so that ties and edges of bins occur.
probabilities = st.integers(1, 19).map(lambda k: k / 20)
rows = st.tuples(probabilities, st.integers(0, 1), st.integers(0, 3), st.integers(1, 4))


@st.composite
def tables(draw, *, least: int = 1) -> pl.DataFrame:
    """A table with users and whole weights."""
    drawn = draw(st.lists(rows, min_size=least, max_size=25))
    return pl.DataFrame(drawn, schema=["prediction", "label", "user", "weight"], orient="row")
