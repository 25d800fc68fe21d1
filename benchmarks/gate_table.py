"""How often the gate is wrong, beside a gate with a fixed threshold: python benchmarks/gate_table.py [--repeats 1000]

Users have nDCG values of one held-out item, as a system that was trained twice makes them: for a share of users
("churn") the second training ranks the item anew, for the others it changes nothing. Nothing else differs in A/A
repeats; in the others, the new system loses the item of as many users as make up the stated loss. In the rows of rare
losses everybody gains a little, except for one user in fifty who loses all. Both gates judge the same repeats:
`tv.gate` with a margin of 1 %, and "fail if new < 0.99 · old". Cells of the gate hold how often, in per cent, it says
worse / pass / cannot tell; the last column how often the fixed threshold fails, at each loss. A share p from R repeats
has a standard error of √(p(1-p)/R): at 300 repeats 1.3 points at 5 % and 2.9 at 50 %.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

import numpy as np
import polars as pl

import trueval as tv
from trueval.data.ids import Ids
from trueval.evaluation.estimate import Estimate, sums
from trueval.evaluation.outcome import Evaluation, SystemResult
from trueval.metrics.compute import Measured
from trueval.metrics.grammar import parse
from trueval.report.result import Result

METRIC, MARGIN = "ndcg@10", 0.01
GAINS = 1 / np.log2(np.arange(2, 12))  # nDCG of one relevant item by its rank
WORLDS = ((30, 0.5), (100, 0.5), (300, 0.5), (1000, 0.5), (5000, 0.5), (50_000, 0.1), (50_000, 0.5))  # users, churn
LOSSES = (0.0, MARGIN, 2 * MARGIN)
RARE, RARE_USERS = 0.02, (30, 100, 300, 1000, 5000)  # share of users who lose all


def values(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    """nDCG of every user: their item is within the first ten with their chance."""
    return np.where(rng.random(len(chance)) < chance, rng.choice(GAINS, len(chance)), 0.0)


def draw(rng: np.random.Generator, *, users: int, churn: float, loss: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of the new and the old system; the expected value of the new one is (1 - loss) times that of the old."""
    chance = rng.beta(2, 3, users)
    old = values(rng, chance)
    new = np.where(rng.random(users) < churn, values(rng, chance), old)
    return np.where(rng.random(users) < loss, 0.0, new), old


def draw_rare(rng: np.random.Generator, *, users: int, loss: float) -> tuple[np.ndarray, np.ndarray]:
    """A rare few lose all, the others gain as much as leaves the stated loss on average."""
    old = rng.uniform(0.4, 0.8, users)
    gain = (RARE - loss) / (1 - RARE)
    return np.where(rng.random(users) < RARE, 0.0, (1 + gain) * old), old


def result(own: np.ndarray, users: Ids) -> Result:
    """A result with these values."""
    code = np.arange(len(own), dtype=np.int32)
    found = sums(Measured(own), code, len(own), None)
    estimate = Estimate(float(own.mean()), np.nan, np.nan, len(own), 0)
    system = SystemResult({METRIC: estimate}, {METRIC: own}, {METRIC: found}, code, users)
    return Result(Evaluation({"run": system}, {METRIC: parse(METRIC)}, {}, {"seed": 0, "definitions": {}}))


def verdicts(
    repeats: int, *, users: int, churn: float | None, loss: float, seed: int, margin: float = MARGIN
) -> tuple[Counter[str], int]:
    """How often `tv.gate` gives each verdict, and how often a fixed threshold fails; without churn, of rare losses."""
    rng = np.random.default_rng(seed)
    ids = Ids.of(pl.Series(np.arange(users)))
    found: Counter[str] = Counter()
    fixed = 0
    for _ in range(repeats):
        if churn is None:
            new, old = draw_rare(rng, users=users, loss=loss)
        else:
            new, old = draw(rng, users=users, churn=churn, loss=loss)
        found[tv.gate(result(new, ids), result(old, ids), margin={METRIC: f"{100 * margin}%"}).verdict] += 1
        fixed += int(new.mean() < (1 - margin) * old.mean())
    return found, fixed


def rows(repeats: int) -> Iterator[list[str]]:
    """A row for each world, with the losses side by side."""
    worlds: list[tuple[int, float | None, float]] = [(users, None, loss) for users in RARE_USERS for loss in LOSSES[:2]]
    worlds += [(*world, loss) for world in WORLDS for loss in LOSSES]
    numbered = enumerate(sorted(worlds, key=lambda world: world[0]))
    for (users, churn), own in groupby(numbered, key=lambda world: world[1][:2]):
        what = f"1 in {1 / RARE:.0f} loses all" if churn is None else f"1 in {1 / churn:.0f} ranked anew"
        gated, fails = [], []
        for seed, (_, _, loss) in own:
            found, fixed = verdicts(repeats, users=users, churn=churn, loss=loss, seed=seed)
            gated.append(per_cent([found["worse"], found["pass"], found["cannot tell"]], repeats))
            fails.append(fixed)
        gated += ["–"] * (len(LOSSES) - len(gated))
        yield [f"{users:,}", what, *gated, per_cent(fails, repeats)]


def per_cent(counts: list[int], repeats: int) -> str:
    """Shares of repeats in per cent, in one cell."""
    return " / ".join(f"{100 * count / repeats:.1f}" for count in counts)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    print("| users | what differs | gate, no loss | gate, loss of 1 % | gate, loss of 2 % | fixed threshold fails |")
    print("|---:|---|---:|---:|---:|---:|")
    for row in rows(repeats):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
