"""Sampled target sets (NN designs)."""

from __future__ import annotations

import numpy as np

from trueval.data.by_user import ByUser
from trueval.design.design import Design
from trueval.errors import DefinitionError
from trueval.kernels import blocks, choose, in_order
from trueval.kernels.seeds import derive


def sample_targets(
    design: Design, candidates: np.ndarray, popularity: np.ndarray, seen: ByUser, relevant: ByUser,
    own: ByUser, unit_user: np.ndarray, n_items: int, seed: int,
) -> tuple[ByUser, np.ndarray]:  # fmt: skip
    """Targets of each unit: its own relevant items and `design.sample` of its non-relevant candidates.

    Nothing a unit's user has seen or finds relevant is ever sampled. Returns also the number of candidates
    that each unit's sample was drawn from; some may have fewer than asked for. Each unit draws from its own
    stream, so results do not depend on the others.
    """
    units = len(unit_user)
    barred = _merged(seen, relevant)
    cumulative = np.empty(0)
    if design.weights == "popularity":
        cumulative = np.cumsum(popularity[candidates].astype(np.float64))
    streams = unit_user.astype(np.int64)
    if design.resample:
        streams = streams + (own.item.astype(np.int64) + 1) * (int(unit_user.max(initial=0)) + 1)
    drawn = np.full((units, design.sample), -1, np.int32)
    pool = np.zeros(units, np.int64)
    kernel = choose("sampling", units * design.sample * 10).sample_units
    purpose = derive(seed, "sample")

    def draw(part: slice) -> None:
        kernel(
            candidates.astype(np.int32), cumulative, barred.start, barred.item, streams, purpose, design.sample,
            n_items, part.start, part.stop, drawn, pool,
        )  # fmt: skip

    for _ in in_order(draw, blocks(units, max(256, units // 64 + 1))):
        pass
    _check_pool(design, pool)
    rows = np.flatnonzero(drawn.ravel() >= 0)
    unit = np.concatenate([rows // design.sample, own.user])
    return ByUser.of(unit, np.concatenate([drawn.ravel()[rows], own.item]), n_users=units), pool


def _merged(left: ByUser, right: ByUser) -> ByUser:
    return ByUser.of(
        np.concatenate([left.user, right.user]),
        np.concatenate([left.item, right.item]),
        n_users=len(left.start) - 1,
    )


def _check_pool(design: Design, pool: np.ndarray) -> None:
    """A few very active users may lack candidates; a design that most users cannot have is refused."""
    short = pool < design.sample
    if len(pool) and short.mean() > 0.1:  # a percentile may have no target set at all
        largest = int(np.sort(pool)[len(pool) // 10])
        possible = f"the largest sample that nine in ten target sets can have is {largest} (NN{largest})"
        raise DefinitionError(
            f"the design {design} is impossible for this data",
            found=f"{int(short.sum()):,} of {len(pool):,} target sets have fewer than {design.sample} candidates left",
            do=possible if largest else "rank among all non-relevant items (AN): there is nothing to sample from",
        )
