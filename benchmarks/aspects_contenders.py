"""Contenders of the aspect benchmark, on facts already made: a plain kernel for α-nDCG, and the metrics of trueval.

`plain_alpha` is the yardstick: compiled, threaded like trueval, and as plain as the formula: at every place of the
ideal it works out the gain of every relevant item that is left. `naive` checks αβ-nDCG on a few users: at every
place it looks at every target. Reading and ranking are not timed, for anyone.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from worker import Work

TOP, CHECKED = 100, 40
ALPHA, BETA, CERTAIN = 0.005, 0.5, 5.0
ASPECT_METRICS = ("alpha_ndcg@100", "abndcg@100", "srecall@100", "srr@100", "nrbp", "err_ia@100", "eu@100", "rbu@100")


@lru_cache(maxsize=1)
def load(folder: Path) -> tuple[Any, Any]:
    """Facts of the run, and what metrics need besides."""
    os.environ["TRUEVAL_KERNELS"] = "compiled"
    from trueval.data.run_tables import read_run
    from trueval.evaluation.held_out import prepare_run, read_held_out
    from trueval.evaluation.options import EvaluationOptions
    from trueval.facts.from_run import run_facts

    files = {name: folder / f"{name}.parquet" for name in ("recs", "test", "train", "items")}
    options = EvaluationOptions(metrics="ndcg@10")
    held = read_held_out(files["test"], options, train=files["train"], items=files["items"])
    run = read_run(files["recs"])
    prepared = prepare_run(held, run["user"], run["item"])
    truth, inputs = prepared.truth, prepared.context.inputs
    assert inputs.interest is not None
    assert inputs.interest.ratings is not None
    assert inputs.aspects is not None
    assert inputs.aspects.sets is not None
    inputs.interest.ratings(), inputs.interest.bounds()
    return run_facts(run, truth), inputs


def measured(metric: str) -> Work:
    """One metric of trueval, with whatever it prepares."""
    # read when trueval is imported, so set before: the tiny run then loads what is compiled, as for others
    os.environ["TRUEVAL_KERNELS"] = "compiled"

    def run(folder: Path) -> dict[str, np.ndarray]:
        from trueval.metrics.compute import compute
        from trueval.metrics.grammar import parse

        facts, inputs = load(folder)
        fresh = facts.changed()  # without what an earlier metric kept
        return {metric: compute(parse(metric), fresh, inputs).per_unit}

    return Work(run, lambda columns: columns, prepare=load)


def alpha_ndcg() -> Work:
    return measured("alpha_ndcg@100")


def abndcg() -> Work:
    return measured("abndcg@100")


def plain_alpha() -> Work:
    """α-nDCG@100, every aspect weighing the same."""
    from numba import njit

    @njit(nogil=True, cache=True)
    def kernel(shown_start, shown, start, item, relevant, begin, aspect, number, items, discount, first, last, out):  # type: ignore[no-untyped-def]
        mine = np.zeros(items, np.bool_)
        left, used = np.empty(number), np.zeros(item.size, np.bool_)
        for u in range(first, last):
            for j in range(start[u], start[u + 1]):
                mine[item[j]] = relevant[j]
            left[:] = 1.0
            dcg = 0.0
            for r in range(shown_start[u], min(shown_start[u + 1], shown_start[u] + 100)):
                if mine[shown[r]]:
                    for x in range(begin[shown[r]], begin[shown[r] + 1]):
                        dcg += left[aspect[x]] * discount[r - shown_start[u] + 1]
                        left[aspect[x]] *= 0.5
            left[:] = 1.0
            ideal = 0.0
            for place in range(1, 101):
                best, chosen = 0.0, -1
                for j in range(start[u], start[u + 1]):
                    if relevant[j] and not used[j]:
                        gain = 0.0
                        for x in range(begin[item[j]], begin[item[j] + 1]):
                            gain += left[aspect[x]]
                        if gain > best or (gain == best and chosen >= 0 and item[j] < item[chosen]):
                            best, chosen = gain, j
                if chosen < 0:
                    break
                used[chosen] = True
                ideal += best * discount[place]
                for x in range(begin[item[chosen]], begin[item[chosen] + 1]):
                    left[aspect[x]] *= 0.5
            for j in range(start[u], start[u + 1]):
                mine[item[j]] = False
            out[u] = dcg / ideal if ideal > 0 else np.nan

    def run(folder: Path) -> dict[str, np.ndarray]:
        from trueval.kernels import blocks, in_order

        facts, inputs = load(folder)
        aspects, out = inputs.aspects, np.zeros(len(facts))
        columns = (
            facts.list_start, facts.list_item, facts.start, facts.item, facts.relevant, aspects.start, aspects.aspect,
            len(aspects), len(facts.items), 1 / np.log2(np.arange(TOP + 1) + 1 + (np.arange(TOP + 1) == 0)),
        )  # fmt: skip
        parts = blocks(len(facts), 4096)
        list(in_order(lambda part: kernel(*columns, part.start, part.stop, out), parts))
        return {"alpha_ndcg@100": out}

    return Work(run, lambda columns: columns, prepare=load)


def naive() -> Work:
    """αβ-nDCG@100 of the first users, looking at every target at every place."""

    def run(folder: Path) -> dict[str, np.ndarray]:
        facts, inputs = load(folder)
        has = inputs.aspects.matrix() > 0
        profile = inputs.interest.ratings()
        return {"abndcg@100": np.array([_unified(facts, has, profile, u) for u in range(min(CHECKED, len(facts)))])}

    return Work(run, lambda columns: columns, prepare=load)


def _unified(facts: Any, has: np.ndarray, profile: Any, u: int) -> float:
    """Every user of this data is a unit, in the order of the users."""
    mine = slice(profile.start[u], profile.start[u + 1])
    weight = (profile.value[mine, None] * has[profile.item[mine]]).sum(axis=0)
    weight = weight / weight.sum()
    chance = np.full(len(has), ALPHA)
    own = slice(facts.start[u], facts.start[u + 1])
    chance[facts.item[own]] = BETA * facts.value[own] / CERTAIN
    chances = has * chance[:, None]
    discount = 1 / np.log2(np.arange(1, TOP + 1) + 1)
    shown = facts.list_item[facts.list_start[u] : facts.list_start[u + 1]][:TOP]
    left, total = weight.copy(), 0.0
    for place, i in enumerate(shown):
        total += discount[place] * (1 - np.prod(1 - chances[i] * left))
        left *= 1 - chances[i]
    left, ideal = weight.copy(), 0.0
    open_ = np.ones(len(has), bool)
    open_[profile.item[mine]] = False
    for place in range(TOP):
        gains = np.where(open_, 1 - np.prod(1 - chances * left, axis=1), -1.0)
        chosen = int(gains.argmax())
        ideal += discount[place] * gains[chosen]
        left *= 1 - chances[chosen]
        open_[chosen] = False
    return total / ideal
