"""Whether answers depend on where a list stood: the tab, the side, the place in the sequence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.statistics.permutation_test import sign_flips
from trueval.statistics.rank_tests import score_test


@dataclass(frozen=True, slots=True)
class PositionBias:
    """What answers were at each position, whatever system stood there, and the test that positions do not matter.

    `means` are mean ranks (rank), shares of the choices made (pair) or mean values (rate). `counts` are answers.
    """

    form: str
    positions: tuple[int, ...]
    means: tuple[float, ...]
    counts: tuple[int, ...]
    p: float
    participants: int
    method: str

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def position_bias(tables: dict[str, pl.DataFrame], *, seed: int, draws: int = 10_000) -> list[PositionBias]:
    """The test for each form that has positions. Planted lists count: they stand at positions, too.

    Systems were put at positions by chance, so that under the null hypothesis a participant's answers could stand at
    their positions in any order. What systems differ by is taken out of the answers first, to see more.
    """
    found = []
    if "position" in (rankings := tables.get("rankings", pl.DataFrame())).columns:
        ranked = rankings.drop_nulls("rank").with_columns(
            value=pl.col("rank").rank("average").over("participant", "task").cast(pl.Float64)
        )
        found.append(_of_values(ranked, "rank", seed=seed, draws=draws))
    if "pairs" in tables:
        found.append(_of_sides(tables["pairs"], seed=seed, draws=draws))
    if "position" in (scales := tables.get("scales", pl.DataFrame())).columns:
        found.append(_of_values(scales.drop_nulls("value"), "rate", seed=seed, draws=draws))
    return [one for one in found if one is not None]


def _of_values(frame: pl.DataFrame, form: str, *, seed: int, draws: int) -> PositionBias | None:
    """Ranks or values: a row per participant, a column per position, the mean of several tasks or questions."""
    of_system = [name for name in ("system", "question") if name in frame.columns]
    apart = (pl.col("value") - pl.col("value").mean().over(of_system)).alias("apart")
    cells = frame.with_columns(apart).group_by("participant", "position").agg(
        pl.col("value").mean(), pl.col("apart").mean()
    ).sort("participant", "position")  # fmt: skip
    positions = sorted(cells["position"].unique().to_list())
    people = sorted(cells["participant"].unique().to_list())
    if len(positions) < 2:
        return None
    scores = np.full((len(people), len(positions)), np.nan)
    row = np.searchsorted(people, cells["participant"].to_numpy())
    scores[row, np.searchsorted(positions, cells["position"].to_numpy())] = np.round(cells["apart"].to_numpy(), 9)
    test = score_test(scores, seed=seed, draws=draws, fitted=frame["system"].n_unique() - 1)
    by_place = frame.group_by("position").agg(pl.col("value").mean(), pl.len()).sort("position")
    return PositionBias(
        form, tuple(positions), tuple(by_place["value"].to_list()), tuple(by_place["len"].to_list()), test.p,
        test.judges, test.method,
    )  # fmt: skip


def _of_sides(pairs: pl.DataFrame, *, seed: int, draws: int) -> PositionBias | None:
    """Left and right: participants' surplus of one side, with the sides of a participant exchanged by coins."""
    own = pairs.drop_nulls("answer").with_columns(
        lean=pl.col("answer").replace_strict({"left": 1.0, "right": -1.0, "none": 0.0}, return_dtype=pl.Float64)
    )
    by_person = own.group_by("participant").agg(pl.col("lean").sum()).sort("lean")["lean"].to_numpy()
    left, right = (int((pairs["answer"] == side).sum()) for side in ("left", "right"))
    if not left + right:
        return None
    p = float(sign_flips(by_person[:, None], ["two-sided"], seed=seed, resamples=draws)[0])
    shares = (left / (left + right), right / (left + right))
    return PositionBias("pair", (1, 2), shares, (left, right), p, len(by_person), "sign flips of participants")
