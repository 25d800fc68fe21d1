"""The position-based click model, fitted by expectation-maximisation."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.errors import DataError


def fit_positions(clicks: pl.DataFrame, *, steps: int = 200, tolerance: float = 1e-9) -> pl.DataFrame:
    """Examination θ of each position from (item, position, click) rows, 1 at the best position.

    P(click) = θ(position)·γ(item), where a click means the place was looked at and the item liked. Each step
    fills in, for every row without a click, how likely each of the two was.

    >>> shown = {"item": [0] * 8 + [1] * 8, "position": ([1] * 4 + [2] * 4) * 2}
    >>> clicks = [1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0]  # all and half of item 0's, half and a quarter of 1's
    >>> fit_positions(pl.DataFrame({**shown, "click": clicks}))["p"].round(3).to_list()
    [1.0, 0.5]
    """
    for column in ("item", "position", "click"):
        if column not in clicks.columns:
            raise DataError(f"the position-based model needs a column {column}", found=", ".join(clicks.columns))
    # rows alike in item and position are one row with counts
    cells = clicks.group_by("item", "position").agg(n=pl.len(), c=pl.col("click").cast(pl.Int64).sum())
    positions = cells["position"].unique().sort()
    place = positions.search_sorted(cells["position"]).to_numpy()
    item = np.unique(cells["item"].to_numpy(), return_inverse=True)[1]
    n, c = cells["n"].to_numpy().astype(np.float64), cells["c"].to_numpy().astype(np.float64)
    theta = np.full(len(positions), 0.5)
    gamma = np.full(int(item.max()) + 1, 0.5)
    of_place, of_item = np.bincount(place, n), np.bincount(item, n)
    for _ in range(steps):
        t, g = theta[place], gamma[item]
        unseen = np.maximum(1 - t * g, 1e-300)
        looked = c + (n - c) * t * (1 - g) / unseen
        liked = c + (n - c) * g * (1 - t) / unseen
        new_theta, gamma = np.bincount(place, looked) / of_place, np.bincount(item, liked) / of_item
        moved = float(np.abs(new_theta - theta).max())
        theta = new_theta
        if moved < tolerance:
            break
    if theta.max() <= 0:
        raise DataError("no click at any position", where="position-based model", do="use more data")
    return pl.DataFrame({"position": positions, "p": theta / theta.max()})
