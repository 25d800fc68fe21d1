"""The same for A/B tests, off-policy estimates, calibration, groups and agreement: worlds with a known truth."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

import trueval as tv
from trueval.comparison.tau import taus
from trueval.data.ids import Ids
from trueval.evaluation.estimate import Estimate, Sums
from trueval.evaluation.outcome import Evaluation, SystemResult
from trueval.metrics.grammar import parse
from trueval.metrics.metric_values import same

ARMS = (50, 200, 2000)  # users per arm: with fewer, there is often no purchase at all
UNEQUAL = ((100, 100), (100, 300), (30, 300), (100, 1000), (100, 5000), (1000, 10_000))  # new arm, control
AB = "conversion=bought,ctr=clicks/shows,dwell=seconds,dwell median:median=seconds,revenue=amount"
METRICS = ("ndcg@10", "recall@10")


def other_tables(rounds: int) -> str:
    """All of them, as Markdown; slower ones by fewer rounds."""
    few = rounds // 4
    return "\n".join(
        [_ab(rounds), unequal_arms(rounds // 2), _ope(few), _calibration(few), _gaps(few // 2), _tau(few // 5)]
    )


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _share(values: list[bool]) -> str:
    return f"{100 * np.mean(values):.1f}" if values else "–"


def _arms(rng: np.random.Generator, users: int, control: int = 0) -> pl.DataFrame:
    """Two arms that do not differ: purchases, clicks over shows, dwell time, revenue that most users do not bring.

    The control has as many users as the other arm, unless its number is given.
    """
    both = users + (control or users)
    shows = 1 + rng.poisson(8, both)
    return pl.DataFrame({
        "user": np.arange(both),
        "arm": np.repeat(["control", "new"], [both - users, users]),
        "bought": rng.random(both) < 0.08,
        "clicks": rng.binomial(shows, rng.beta(2, 18, both)),
        "shows": shows,
        "seconds": rng.lognormal(3, 1, both),
        "amount": np.where(rng.random(both) < 0.1, rng.lognormal(2, 1, both), 0.0),
    })  # fmt: skip


def _ab(rounds: int) -> str:
    found: dict[str, dict[int, list[tuple[bool, bool]]]] = {}
    for users in ARMS:
        rng = np.random.default_rng(users)
        for _ in range(rounds):
            try:
                compared = tv.ab_test(_arms(rng, users), arm="arm", metrics=AB, correct="none").comparisons
            except tv.TruevalError:  # nobody bought anything: refused
                continue
            for c in compared:
                held = c.low <= 0 <= c.high if c.low == c.low else None
                found.setdefault(c.metric, {}).setdefault(users, []).append((c.p < 0.05, held))
    rows = []
    for metric, by_users in found.items():
        cells = []
        for users in ARMS:
            own = by_users.get(users, [])
            cells.append(f"{_share([p for p, _ in own])} / {_share([held for _, held in own if held is not None])}")
        rows.append([metric, *cells])
    text = (
        "## A/B tests\n\nHow often p < .05 though the arms do not differ (nominal: 5) / how often the interval holds 0 "
    )
    text += f"(nominal: 95); {rounds:,} rounds.\n\n"
    return text + table(["metric", *(f"{u:,} users per arm" for u in ARMS)], rows)


def unequal_arms(rounds: int) -> str:
    """The same for arms of unequal size, where skewness does not cancel."""
    found: dict[str, dict[tuple[int, int], list[tuple[bool, bool]]]] = {}
    asked = AB.replace(",dwell median:median=seconds", "") + ",dwell mean:mean=seconds,dwell ranks:mannwhitney=seconds"
    for sizes in UNEQUAL:
        rng = np.random.default_rng(sum(sizes))
        for _ in range(rounds):
            frame = _arms(rng, *sizes)
            try:
                rules = {"correct": "none", "resamples": 999, "ignore_mismatch": True}
                compared = tv.ab_test(frame, arm="arm", metrics=asked, **rules).comparisons
            except tv.TruevalError:  # nobody bought anything: refused
                continue
            for c in compared:
                held = c.low <= 0 <= c.high if c.low == c.low else None
                found.setdefault(c.metric, {}).setdefault(sizes, []).append((c.p < 0.05, held))
    rows = []
    for metric, by_sizes in found.items():
        cells = []
        for sizes in UNEQUAL:
            own = by_sizes.get(sizes, [])
            cells.append(f"{_share([p for p, _ in own])} / {_share([held for _, held in own if held is not None])}")
        rows.append([metric, *cells])
    text = "## A/B tests with arms of unequal size\n\nThe same by users of the new arm and of the control; "
    text += f"{rounds:,} rounds.\n\n"
    return text + table(["metric", *(f"{few:,} : {many:,}" for few, many in UNEQUAL)], rows)


def _ope(rounds: int) -> str:
    """A target policy that likes what earns more than the live one does; six items."""
    rng = np.random.default_rng(0)
    live = rng.dirichlet(np.full(6, 3.0))
    earns = rng.uniform(0.02, 0.3, 6)
    target = live * np.exp(4 * earns)
    target /= target.sum()
    policy, truth = pl.DataFrame({"item": range(6), "probability": target}), float(target @ earns)
    rows = {name: [name] for name in ("ips", "snips", "dr")}
    for number in (200, 2000):
        held: dict[str, list[bool]] = {name: [] for name in rows}
        for _ in range(rounds):
            item = rng.choice(6, size=number, p=live)
            log = pl.DataFrame(
                {"item": item, "click": (rng.random(number) < earns[item]).astype(int), "propensity": live[item]}
            )
            result = tv.ope(log, policy, estimators=list(rows))
            for name, own in held.items():
                own.append(result[name].low <= truth <= result[name].high)
        for name, row in rows.items():
            row.append(_share(held[name]))
    text = (
        f"## Off-policy estimates\n\nHow often the 95 % interval holds the policy's true value; {rounds:,} rounds.\n\n"
    )
    return text + table(["estimator", "200 rows", "2,000 rows"], rows.values())


def _calibration(rounds: int) -> str:
    """Predictions that are the true chances: gaps are 0."""
    names = ("ece", "ece[by=mass]", "mce", "mce[by=mass]")
    rows = {name: [name] for name in names}
    for number in (200, 2000):
        rng = np.random.default_rng(number)
        found: dict[str, list[tuple[bool, bool]]] = {name: [] for name in names}
        for n in range(rounds):
            p = 1 / (1 + np.exp(-rng.normal(-1.5, 1.2, number)))
            predictions = pl.DataFrame({"p": p, "y": (rng.random(number) < p).astype(int)})
            for row in tv.pointwise(predictions, metrics=list(names), seed=n).table().to_dicts():
                low = row["low"]
                found[row["metric"]].append((row["p"] < 0.05, low is not None and low <= 0))
        for name, row in rows.items():
            row.append(f"{_share([p for p, _ in found[name]])} / {_share([held for _, held in found[name]])}")
    text = "## Calibration\n\nPredictions that are calibrated: how often p < .05 (nominal: at most 5) / how often the "
    return text + f"interval holds 0 (nominal: at least 95); {rounds:,} rounds.\n\n" + table(
        ["metric", "200 rows", "2,000 rows"], rows.values()
    )  # fmt: skip


def _gaps(rounds: int) -> str:
    """Three groups of users with the same hit rate: the gap is 0."""
    rows = {rate: [f"{rate:.0%}".replace("%", " %")] for rate in (0.02, 0.3)}
    for rate, row in rows.items():
        for users in (200, 2000):
            rng, held = np.random.default_rng(users), []
            who = pl.DataFrame({"user": range(users), "group": [f"g{u % 3}" for u in range(users)]})
            test = pl.DataFrame({"user": range(users), "item": 0})
            for n in range(rounds):
                hit = rng.random(users) < rate
                hit[0] = True  # some item of the test set must be recommended
                recs = pl.DataFrame({"user": range(users), "item": np.where(hit, 0, 1), "rank": 1})
                found = tv.evaluate_run(recs, test, metrics="hit@1", users=who, by="group", seed=n).gaps("group")
                held.append(found["gap_low"].item() <= 0)
            row.append(_share(held))
    text = (
        "## Gaps between groups\n\nThree groups of users who are hit equally often: how often the interval of the gap "
    )
    return text + f"begins at 0 (nominal: 95); {rounds:,} rounds.\n\n" + table(
        ["hit rate", "200 users", "2,000 users"], rows.values()
    )  # fmt: skip


def _tau(rounds: int) -> str:
    """Ten systems, two metrics of the same users: Kendall's τ of the true values."""
    rows = []
    for apart, words in ((0.5, "close"), (2.0, "middling"), (10.0, "far")):
        row = [words]
        for users in (200, 2000):
            rng, found = np.random.default_rng(users), []
            for _ in range(rounds):
                found.append(_one_tau(rng, users, apart))
            held, seen, guess, true = zip(*found)
            row.append(f"{_share(list(held))} ({np.mean(true):.2f} / {np.mean(seen):.2f} / {np.mean(guess):.2f})")
        rows.append(row)
    text = "## Agreement of two metrics\n\nTen systems whose true values lie close together (half a standard error), "
    text += (
        "apart, or far: how often the 95 % interval holds Kendall's τ of the true values, and in brackets the mean of "
    )
    text += f"the true τ, the observed one and the estimate; {rounds:,} rounds.\n\n"
    return text + table(["systems", "200 users", "2,000 users"], rows)


def _one_tau(rng: np.random.Generator, users: int, apart: float) -> tuple[bool, float, float, float]:
    a, b = rng.standard_normal((2, 10))
    true = apart * np.stack([a, 0.3 * a + np.sqrt(1 - 0.3**2) * b]) / np.sqrt(users)  # in standard errors
    shared, level = rng.standard_normal((10, users)), rng.standard_normal(users)
    values = {}
    for j in range(10):
        own = rng.standard_normal((2, users))
        values[f"s{j}"] = true[:, j, None] + np.sqrt(0.8) * shared[j] + np.sqrt(0.2) * own + level
    found = result_of(values).agreement(resamples=400, seed=int(rng.integers(2**30)))
    (tau,) = taus(true[:1], true[1:])[0]
    low, high = found.tau.low[0, 1], found.tau.high[0, 1]
    return low - 1e-9 <= tau <= high + 1e-9, found.tau.observed[0, 1], found.tau.value[0, 1], float(tau)


def result_of(values: dict[str, np.ndarray]) -> tv.Result:
    """A result of systems with these values by metric and user."""
    ones = np.ones((next(iter(values.values())).shape[1], 1))
    systems = {
        name: system_of({m: Sums(row[:, None], ones, same, len(row), 0) for m, row in zip(METRICS, rows)})
        for name, rows in values.items()
    }
    specs = {metric: parse(metric) for metric in METRICS}
    manifest = {
        "population": "relevant", "design": "given", "ties": "random", "interval": "none", "seed": 0,
        "definitions": {m: spec.definition for m, spec in specs.items()},
    }  # fmt: skip
    return tv.Result(Evaluation(systems, specs, {}, manifest))


def system_of(sums: dict[str, Sums]) -> SystemResult:
    """A system with these values by metric, users numbered."""
    users = len(next(iter(sums.values())).numerator)
    estimates = {name: Estimate(float(s.value()[0]), np.nan, np.nan, s.n) for name, s in sums.items()}
    values = {name: s.own_values() for name, s in sums.items()}
    return SystemResult(estimates, values, sums, np.arange(users, dtype=np.int32), numbered(users))


def numbered(users: int) -> Ids:
    return Ids.of(pl.Series(np.arange(users)))
