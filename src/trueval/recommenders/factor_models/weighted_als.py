"""Weighted matrix factorisation by alternating least squares, with a weight on what is missing.

The objective, over all users and items (Steck 2011, Eq. 10), with R̂_ui = r_m + p_i·q_u:

    Σ_u Σ_i W_ui · { (R_ui − R̂_ui)² + λ (|p_i|² + |q_u|²) }

where a missing R_ui is r_m. Weights depend on the item alone: `observed[i]` for a rating, `missing[i]` for a
missing one. Missing ratings enter through Gram matrices, so nothing of the size users × items is ever made: a
sweep costs O(ratings·width² + (users + items)·width³).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from trueval.data.by_user import ByUser
from trueval.errors import DataError
from trueval.kernels.compiled import load
from trueval.kernels.threads import blocks, in_order
from trueval.progress import Step, progress

# Rows that a worker takes at a time; it changes nothing but speed.
BLOCK = 64


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two halves of a sweep: a regression for each user, or for each item."""

    start: np.ndarray
    other: np.ndarray  # item of a user's rating, user of an item's
    extra: np.ndarray  # weight of a rating beyond that of a missing one
    target: np.ndarray  # weight · (R − r_m)
    scale: np.ndarray  # by row, of the Gram matrix of the missing ratings
    trace: np.ndarray  # by row, sum of all weights

    def __len__(self) -> int:
        return len(self.trace)


@dataclass(frozen=True, slots=True)
class Problem:
    """The data term of the objective, read by user and by item."""

    users: Side
    items: Side
    missing: np.ndarray  # weight of a missing rating, by item
    constant: float  # Σ_obs w (R − r_m)²: the objective of all-zero factors

    @staticmethod
    def of(log: ByUser, r_m: float, *, observed: np.ndarray, missing: np.ndarray) -> Problem:
        """Weighted ratings; `observed` and `missing` are weights by item."""
        n_users, n_items = len(log.start) - 1, len(missing)
        assert log.value is not None
        by_item = ByUser.of(log.item, log.user, log.value, n_users=n_items)
        item_of = np.repeat(np.arange(n_items), by_item.counts)
        extra = observed - missing
        shift, item_shift = log.value - r_m, by_item.value - r_m  # type: ignore[operator]
        target = observed[log.item] * shift
        ratings = np.bincount(log.user, weights=extra[log.item], minlength=n_users)
        users = Side(
            log.start, log.item, extra[log.item], target, np.ones(n_users), ratings + missing.sum()
        )  # fmt: skip
        items = Side(
            by_item.start, by_item.item, extra[item_of], observed[item_of] * item_shift, missing,
            extra * by_item.counts + missing * n_users,
        )  # fmt: skip
        return Problem(users, items, missing, float(target @ shift))


@dataclass(frozen=True, slots=True)
class Solution:
    """Factors, and the objective after every sweep. Users are optimal for the items as they are."""

    users: np.ndarray
    items: np.ndarray
    objective: list[float]
    base: np.ndarray = field(repr=False)  # Gram matrix of the items, weighted like missing ratings


def alternate(
    problem: Problem, *, n_factors: int, regularization: float, sweeps: int, seed: int, title: str
) -> Solution:
    """Minimise the objective, items and users in turn, from random user factors."""
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(seed)
    users = rng.standard_normal((len(problem.users), n_factors)) / np.sqrt(n_factors)
    objective: list[float] = []
    load("als")
    # a BLAS with threads of its own would fight the workers, and round in ways that depend on their number
    with (
        threadpool_limits(1, user_api="blas"),
        progress(f"fitting {title}", sweeps * (len(problem.users) + len(problem.items))) as step,
    ):
        for _ in range(sweeps):
            items, _ = solve(problem.items, users, users.T @ users, regularization=regularization, step=step)
            base = (items.T * problem.missing) @ items
            users, fall = solve(problem.users, items, base, regularization=regularization, step=step)
            penalty = regularization * float(problem.items.trace @ np.square(items).sum(axis=1))
            objective.append(problem.constant - float(fall.sum()) + penalty)
    return Solution(users, items, objective, base)


def solve(
    side: Side, factors: np.ndarray, base: np.ndarray, *, regularization: float, step: Step = lambda done=1: None
) -> tuple[np.ndarray, np.ndarray]:
    """The best factors of one side for those of the other, and how much each row's takes off the objective."""
    kernel: Callable[..., None] = load("als").solve_rows
    out, fall = np.empty((len(side), factors.shape[1])), np.empty(len(side))
    ridge = regularization * side.trace

    def work(part: slice) -> int:
        kernel(
            part.start, part.stop, side.start, side.other, side.extra, side.target, factors, base, side.scale, ridge,
            out, fall,
        )  # fmt: skip
        return part.stop - part.start

    parts = blocks(len(side), BLOCK)
    try:
        for done in in_order(work, parts) if len(parts) > 1 else map(work, parts):  # few rows are not worth threads
            step(done)
    except np.linalg.LinAlgError:
        raise DataError(
            "the equations of a row have no unique solution",
            where="train",
            found=f"regularization {regularization:g}",
            do="raise the regularization",
        ) from None
    return out, fall
