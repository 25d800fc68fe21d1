"""How often the gate is wrong, beside a gate with a fixed threshold: python benchmarks/gate_table.py [--repeats 1000]

Users have nDCG values of one held-out item, as a system that was trained twice makes them: for a share of users
("churn") the second training ranks the item anew, for the others it changes nothing. Nothing else differs in A/A
repeats; in the others, the new system loses the item of as many users as make up the stated loss. Both gates judge the
same repeats: `tv.gate` with a margin of 1 %, and "fail if new < 0.99 · old". A share from R repeats has a standard
error of √(p(1-p)/R): ±1.4 points, twice that, at 5 % and 1,000.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator

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
WORLDS = ((500, 0.02), (1000, 0.5), (5000, 0.5), (50_000, 0.1), (50_000, 0.5))  # users, churn
LOSSES = (0.0, MARGIN, 2 * MARGIN)


def values(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    """nDCG of every user: their item is within the first ten with their chance."""
    return np.where(rng.random(len(chance)) < chance, rng.choice(GAINS, len(chance)), 0.0)


def draw(rng: np.random.Generator, *, users: int, churn: float, loss: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of the new and the old system; the expected value of the new one is (1 - loss) times that of the old."""
    chance = rng.beta(2, 3, users)
    old = values(rng, chance)
    new = np.where(rng.random(users) < churn, values(rng, chance), old)
    return np.where(rng.random(users) < loss, 0.0, new), old


def result(own: np.ndarray, users: Ids) -> Result:
    """A result with these values."""
    code = np.arange(len(own), dtype=np.int32)
    found = sums(Measured(own), code, len(own), None)
    estimate = Estimate(float(own.mean()), np.nan, np.nan, len(own), 0)
    system = SystemResult({METRIC: estimate}, {METRIC: own}, {METRIC: found}, code, users)
    return Result(Evaluation({"run": system}, {METRIC: parse(METRIC)}, {}, {"seed": 0, "definitions": {}}))


def verdicts(
    repeats: int, *, users: int, churn: float, loss: float, seed: int, margin: float = MARGIN
) -> tuple[Counter[str], int]:
    """How often `tv.gate` gives each verdict, and how often a fixed threshold fails."""
    rng = np.random.default_rng(seed)
    ids = Ids.of(pl.Series(np.arange(users)))
    found: Counter[str] = Counter()
    fixed = 0
    for _ in range(repeats):
        new, old = draw(rng, users=users, churn=churn, loss=loss)
        found[tv.gate(result(new, ids), result(old, ids), margin={METRIC: f"{100 * margin}%"}).verdict] += 1
        fixed += int(new.mean() < (1 - margin) * old.mean())
    return found, fixed


def rows(repeats: int) -> Iterator[list[str]]:
    """A row for each world and loss."""
    for number, (users, churn) in enumerate(WORLDS):
        for place, loss in enumerate(LOSSES):
            found, fixed = verdicts(repeats, users=users, churn=churn, loss=loss, seed=100 * number + place)
            shares = [found["worse"], found["pass"], found["cannot tell"], fixed]
            yield [f"{users:,}", f"{churn:.0%}", f"{loss:.0%}", *(f"{100 * one / repeats:.1f} %" for one in shares)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    print("| users | churn | true loss | gate: worse | gate: pass | gate: cannot tell | fixed threshold: fails |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows(repeats):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
