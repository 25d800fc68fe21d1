"""How often intervals hold the truth and tests cry wolf: python benchmarks/coverage_table.py [--rounds 2000] [-o FILE]

Worlds with a known truth are drawn again and again; every interval and test of trueval is made in each, by the code
that users run. A figure from R rounds has a standard error of √(p(1-p)/R): ±1 point, twice that, at 95 % and 2,000.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import trueval
from coverage_other import numbered, other_tables, system_of, table
from trueval.comparison.comparison import ComparisonOptions, compare_joined
from trueval.comparison.join_results import Joined, Replicate
from trueval.evaluation.estimate import Estimate, Sums, estimate_all
from trueval.evaluation.interval_method import IntervalMethod
from trueval.evaluation.jackknife import estimate_tallies, leave_out
from trueval.evaluation.outcome import SystemResult
from trueval.evaluation.repeats import over_repeats
from trueval.metrics.grammar import parse
from trueval.metrics.metric_values import Added, Tally, same
from trueval.statistics.jackknife import JackknifeReplicates

USERS = (20, 200, 2000)
BATCH = 50  # worlds that share their resamples, as the metrics of one evaluation do
ITEMS, LENGTH = 1500, 10

Values = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]  # numerators and denominators of users


def dense(rng: np.random.Generator, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Every user has a value of their own, as AUC."""
    return rng.beta(2, 3, size=users), np.ones(users)


def sparse(rng: np.random.Generator, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Four of five users have 0, the others one of few gains, as nDCG."""
    gains = rng.choice([1.0, 0.63, 0.5, 0.43, 0.39], size=users)
    return np.where(rng.random(users) < 0.2, gains, 0.0), np.ones(users)


def near_zero(rng: np.random.Generator, users: int) -> tuple[np.ndarray, np.ndarray]:
    """One user in fifty is hit, as a hit rate of a weak system."""
    return (rng.random(users) < 0.02).astype(float), np.ones(users)


def ratio(rng: np.random.Generator, users: int) -> tuple[np.ndarray, np.ndarray]:
    """Hits over relevant items of all users together; active users have many, and are served better."""
    trials = 1 + rng.poisson(rng.gamma(0.7, 4.0, size=users))
    rate = rng.beta(2, 6, size=users) * np.where(trials > 4, 1.3, 1.0)
    return rng.binomial(trials, np.minimum(rate, 1.0)).astype(float), trials.astype(float)


KINDS: dict[str, Values] = {"dense": dense, "sparse": sparse, "near 0": near_zero, "ratio": ratio}


def truth_of(values: Values) -> float:
    """The value over a population of four million users."""
    above, below = values(np.random.default_rng(99), 4_000_000)
    return float(above.sum() / below.sum())


def as_sums(above: np.ndarray, below: np.ndarray) -> Sums:
    return Sums(above[:, None], below[:, None], same, len(above), 0, range=(0.0, 1.0))


def batches(rounds: int) -> Iterator[range]:
    for begin in range(0, rounds, BATCH):
        yield range(begin, min(begin + BATCH, rounds))


def interval_coverage(values: Values, users: int, rounds: int) -> dict[str, tuple[float, float]]:
    """By method: how often the interval holds the truth, and how often there is none."""
    truth, rng = truth_of(values), np.random.default_rng(users)
    found: dict[str, list[Estimate]] = {name: [] for name in ("bootstrap", "bca", "t", "nested")}
    for batch in batches(rounds):
        worlds = [as_sums(*values(rng, users)) for _ in batch]
        for name in ("bootstrap", "bca", "t"):
            found[name] += estimate_all(worlds, IntervalMethod(name, batch.start, 1000))
        found["nested"] += [nested(values, rng, s) for s in worlds]
    return {name: held(own, truth) for name, own in found.items()}


def nested(values: Values, rng: np.random.Generator, s: Sums) -> Estimate:
    """Three seeds of the same users: with each seed, half of the users have a value of that seed alone."""
    users, parts = len(s.numerator), []
    for _ in range(3):
        fresh, new = rng.random(users) < 0.5, values(rng, users)
        above, below = (np.where(fresh, n, old[:, 0]) for n, old in zip(new, (s.numerator, s.denominator)))
        parts.append(system_of({"m": as_sums(above, below)}))
    return over_repeats(parts, "m", parse("hit@10"), IntervalMethod("nested", 0, 1000), np.eye(3))


def held(found: list[Estimate], truth: float) -> tuple[float, float]:
    known = [e.low <= truth <= e.high for e in found if e.low == e.low]
    return float(np.mean(known or [np.nan])), 1 - len(known) / len(found)


def lists(rng: np.random.Generator, users: int) -> np.ndarray:
    """Ten items each, without replacement, popular ones likelier (Zipf)."""
    arrival = rng.exponential(size=(users, ITEMS)) * np.arange(1, ITEMS + 1)
    return np.argpartition(arrival, LENGTH, axis=1)[:, :LENGTH]


def tally(shown: np.ndarray) -> Tally:
    """Catalogue coverage of the lists."""
    counts = np.bincount(shown.ravel(), minlength=ITEMS).astype(float)
    rows = Added("all", np.repeat(np.arange(len(shown)), LENGTH), shown.ravel(), None)
    return Tally(counts, lambda c: np.count_nonzero(c) / ITEMS, (rows,), (0.0, 1.0))


def jackknifed(rng: np.random.Generator, users: int, seed: int) -> tuple[Estimate, JackknifeReplicates]:
    own, intervals = {"m": tally(lists(rng, users))}, IntervalMethod("bootstrap", seed, 1000)
    left = leave_out(own, np.arange(users), intervals)
    return estimate_tallies(own, left, users, intervals)["m"], left["m"]


def system_coverage(users: int, rounds: int) -> tuple[float, float]:
    """Coverage of coverage@10: the truth is its expected value over samples of as many users."""
    rng = np.random.default_rng(users)
    rate = np.mean([np.isin(np.arange(ITEMS), lists(rng, users)).mean() for _ in range(rounds)])
    return held([jackknifed(rng, users, n)[0] for n in range(rounds)], float(rate))


def pair(values: Values, rng: np.random.Generator, users: int) -> tuple[Sums, Sums]:
    """Two systems that are equally good: each user's two values could change places."""
    a, below = values(rng, users)
    other, _ = values(rng, users)
    alike = rng.random(users) < 0.5  # half of the users are served the same by both
    b = np.where(alike, a, np.minimum(other, below))
    swap = rng.random(users) < 0.5
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    return as_sums(a, below), as_sums(b, below)


def size_of_tests(values: Values, users: int, rounds: int) -> dict[str, tuple[float, float]]:
    """By test: how often p < .05 though nothing differs, and how often the interval of the difference holds 0."""
    rng, found = np.random.default_rng(users + 1), {}
    rows: dict[str, list] = {name: [] for name in ("t", "wilcoxon", "permutation", "bootstrap")}
    for batch in batches(rounds):
        joined = joined_of([pair(values, rng, users) for _ in batch], users)
        for name, own in rows.items():
            options = ComparisonOptions(test=name, correct="none", seed=batch.start, resamples=2000)
            own += compare_joined(joined, "b", options=options)
    for name, own in rows.items():
        interval = [c.low <= 0 <= c.high for c in own if c.low == c.low]
        found[name] = float(np.mean([c.p < 0.05 for c in own])), float(np.mean(interval or [np.nan]))
    return found


def joined_of(pairs: list[tuple[Sums, Sums]], users: int) -> Joined:
    """All worlds of a batch as the metrics of one evaluation."""
    specs = {f"world {n}": parse("hit@10") for n in range(len(pairs))}
    systems = {name: system_of(dict(zip(specs, own))) for name, own in zip("ab", zip(*pairs))}
    return Joined([Replicate({}, systems)], specs, numbered(users), {})


def system_size(users: int, rounds: int) -> tuple[float, float]:
    """Two systems whose lists come from the same distribution, compared by coverage@10."""
    rng, ids, unit = np.random.default_rng(users + 1), numbered(users), np.arange(users, dtype=np.int32)
    rows = []
    for n in range(rounds):
        systems = {}
        for name in "ab":
            e, left = jackknifed(rng, users, n)
            systems[name] = SystemResult({"m": e}, {}, {}, unit, ids, left_out={"m": left})
        joined = Joined([Replicate({}, systems)], {"m": parse("coverage@10")}, ids, {})
        rows += compare_joined(joined, "b", options=ComparisonOptions(correct="none"))
    interval = [c.low <= 0 <= c.high for c in rows if c.low == c.low]
    return float(np.mean([c.p < 0.05 for c in rows])), float(np.mean(interval or [np.nan]))


def percent(share: float, missing: float = 0.0) -> str:
    """A share in per cent; a dagger where at least one interval in a hundred does not exist."""
    return ("–" if share != share else f"{100 * share:.1f}") + ("†" if missing >= 0.01 else "")


def interval_table(rounds: int) -> str:
    rows = []
    for kind, values in KINDS.items():
        by_users = [interval_coverage(values, users, rounds) for users in USERS]
        for name in by_users[0]:
            words = {"bootstrap": "bootstrap (percentile)", "bca": "BCa", "t": "Student t", "nested": "nested, 3 seeds"}
            rows.append([kind, words[name], "95", *(percent(*own[name]) for own in by_users)])
    few = max(rounds // 4, 50)
    rows.append(["system", "jackknife", "95", *(percent(*system_coverage(users, few)) for users in USERS)])
    return table(["metric", "interval", "nominal %", *(f"{u:,} users" for u in USERS)], rows)


def table_of_tests(rounds: int) -> str:
    names = {"t": "t (exact for few)", "wilcoxon": "Wilcoxon", "permutation": "permutation", "bootstrap": "bootstrap-t"}
    rows = []
    for kind, values in KINDS.items():
        by_users = [size_of_tests(values, users, rounds) for users in USERS]
        for name, words in names.items():
            sizes = [percent(own[name][0]) for own in by_users]
            ends = [percent(own[name][1]) for own in by_users] if name in ("t", "bootstrap") else ["–"] * len(USERS)
            rows.append([kind, words, *(f"{size} / {end}" for size, end in zip(sizes, ends))])
    few = max(rounds // 4, 50)
    found = [system_size(users, few) for users in USERS]
    rows.append(["system", "jackknife", *(f"{percent(size)} / {percent(end)}" for size, end in found)])
    return table(["metric", "test", *(f"{u:,} users" for u in USERS)], rows)


ABOUT = """# How often the intervals hold and the tests err

Made by `make coverage-table` (`benchmarks/coverage_table.py`): trueval {version}, {machine}, {date}, {rounds:,} rounds
(a quarter of them for system metrics). A figure has a standard error of about {error:.1f} points.

Metrics: *dense*, every user has a value of their own (as AUC); *sparse*, four of five users have 0 (as nDCG); *near 0*,
one user in fifty is hit; *ratio*, hits over relevant items of all users together (pooled recall), active users weighing
more; *system*, one value of all lists (catalogue coverage).

## Confidence intervals of a value

How often, in per cent, a 95 % interval holds the true value. † in at least 1 % of the rounds there is no interval,
since nothing varies, and the reason is given instead.

{intervals}
Where at most {few} users differ from the rest, all methods are widened to the exact interval of their share
(Clopper–Pearson), hence the figures above 95 near 0. Percentile and BCa intervals of twenty users are too narrow by a
few points, as everywhere; Student t holds unless values are skewed.

## Tests of a difference

How often, in per cent, p < .05 though nothing differs (nominal: 5) / how often the interval of the difference holds 0
(nominal: 95), before any correction for several comparisons.

{tests}
Far below 5 near 0: few users differ at all, and no test can be sharper than their number allows.

{others}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    begin = time.monotonic()
    from trueval.evaluation.few_users import FEW

    text = ABOUT.format(
        version=trueval.__version__, machine=f"Python {platform.python_version()}, {platform.machine()}",
        date=time.strftime("%Y-%m-%d"), rounds=chosen.rounds, error=100 * np.sqrt(0.95 * 0.05 / chosen.rounds),
        few=("no", "one", "two", "three", "four", "five", "six")[FEW], intervals=interval_table(chosen.rounds),
        tests=table_of_tests(chosen.rounds), others=other_tables(chosen.rounds),
    )  # fmt: skip
    print(text)
    if chosen.output is not None:
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(text, encoding="utf-8")
    print(f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
