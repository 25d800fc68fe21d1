"""Does correction help, at which depth? python benchmarks/corrections_table.py [--seeds 5] [-o docs/corrections.md]

Every world that is finished is kept in a file, and not made again: who stops this goes on where it ended. Worlds that
were made by other code are made again.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau

import known_worlds
import trueval as tv
from claims_page import depth_name, table
from claims_study import COMPLETE, case_of
from known_worlds import GENERATORS, SIZES, WAYS, KnownWorld
from trueval.audit import readings
from trueval.audit.readings import AS_JUDGED, READINESS, SELF_SELECTED, ItemRatings, judged_places
from trueval.data.interactions import Interactions
from trueval.facts.views import condense
from trueval.kernels import use_kernels, use_threads
from trueval.metrics.grammar import parse

KEPT = Path("build/corrections.jsonl")
FIRST_SEED = 8_000
DEPTHS = (10, 20, 100, COMPLETE)
CLASSES = {
    "activity of users only": "nothing", "value 1": "value", "popularity .6, independent": "popularity .6, independent",
    "popularity 1.2, aligned": "popularity 1.2, aligned", "popularity 1.2, independent": "popularity 1.2, independent",
    "popularity 1.2, opposed": "popularity 1.2, opposed",
    "popularity .6, value .5": "popularity and value", "self-selected 1": "self-selected 1",
    "self-selected 2": "self-selected 2",
}  # fmt: skip
RANDOM, PLAIN, RECALL, CONDENSED, BPREF = "random test of the same size", "nDCG", "recall", "condensed nDCG", "bpref"
STRATIFIED = ("stratified recall, β = .5", "stratified recall, β = 1")
IPS, SNIPS = "IPS precision, popularity:1", "SNIPS recall, popularity:1"
JUDGED, SELECTED = f"audit: {AS_JUDGED}", f"audit: {SELF_SELECTED}"
REMEDIES = (RANDOM, PLAIN, RECALL, *STRATIFIED, IPS, SNIPS, CONDENSED, BPREF, JUDGED, SELECTED)


def study(world: KnownWorld) -> list[dict[str, Any]]:
    """For each depth and remedy Kendall's τ between its order of the systems and that by nDCG on complete ratings."""
    orders, rows = world.orders(), []
    with use_kernels("compiled"), use_threads(1):
        for depth in DEPTHS:
            true = [float(np.nanmean(world.true_ndcg(order, depth or order.shape[1]))) for order in orders.values()]
            for name, values in measure(world, world.lists(orders, depth or len(world.items)), depth).items():
                tau = float(kendalltau([values[one] for one in orders], true).statistic)
                rows.append({"depth": depth, "remedy": name, "tau": 0.0 if np.isnan(tau) else tau})
    return rows


def measure(world: KnownWorld, recs: Mapping[str, pl.DataFrame], depth: int) -> dict[str, dict[str, float]]:
    """The value of every system by every remedy that there is at a depth."""
    ndcg = f"ndcg@{depth}" if depth else "ndcg"
    train, test = world.log(world.train), world.log(world.test)
    by_lot = case_of(world, recs, world.log(random_pairs(world)), [ndcg]).measured
    subject = case_of(world, recs, test, [ndcg]).measured
    assert subject.ranked is not None
    specs = {RECALL: f"recall@{depth}", STRATIFIED[0]: f"recall@{depth}[beta=0.5]",
             STRATIFIED[1]: f"recall@{depth}[beta=1]"} if depth else {}  # fmt: skip
    specs |= {PLAIN: ndcg, BPREF: "bpref"}
    setting = subject.view("", lambda one: one.facts, subject.more_specs(list(specs.values())))
    condensed = subject.view("", lambda one: condense(one.facts))
    assert setting is not None
    assert condensed is not None
    labels = dict(zip(specs, setting.specs))
    found = {RANDOM: by_lot.base.values(ndcg), CONDENSED: condensed.values(ndcg)}
    found |= {name: setting.values(label) for name, label in labels.items()}
    if depth:
        found |= weighted(world, recs, train, test, depth)
    places = judged_places(subject.ranked, subject.specs[ndcg])
    assert places is not None
    logs = [Interactions.of(one, name="log") for one in (train, test)]
    ratings = ItemRatings.of(logs, next(iter(subject.ranked.values())).facts.items, world.threshold)
    for name, readiness in ((JUDGED, 1.0), (SELECTED, READINESS)):
        found[name] = {system: own.share(ratings, readiness).value for system, own in places.items()}
    return {name: found[name] for name in REMEDIES if name in found}


def weighted(
    world: KnownWorld, recs: Mapping[str, pl.DataFrame], train: pl.DataFrame, test: pl.DataFrame, depth: int
) -> dict[str, dict[str, float]]:
    """IPS and SNIPS with propensities from the popularity of items alone, over all users."""
    metrics = {IPS: f"ips(precision)@{depth}", SNIPS: f"snips(recall)@{depth}"}
    result = tv.evaluate_run(
        recs, test, train=train, metrics=list(metrics.values()), threshold=world.threshold, population="all",
        propensity="popularity:1", interval="none", threads=1,
    )  # fmt: skip
    return {
        name: {one: float(result[one, str(parse(metric))].value) for one in recs} for name, metric in metrics.items()
    }


def random_pairs(world: KnownWorld) -> np.ndarray:
    """As many pairs as the test part has, drawn from all that are not in train."""
    rng = np.random.default_rng([world.seed, 5])
    free = np.flatnonzero((world.offered & ~world.train).ravel())
    chosen = np.zeros(world.values.size, bool)
    chosen[rng.choice(free, int(world.test.sum()), replace=False)] = True
    return chosen.reshape(world.values.shape)


def made_by() -> str:
    """What the kept worlds depend on: the version, the readings, and the code of the study."""
    import claims_study

    code = "".join(inspect.getsource(one) for one in (readings, known_worlds, claims_study, study, measure, weighted))
    return hashlib.sha256((tv.__version__ + code).encode()).hexdigest()[:12]


def run(seeds: Sequence[int], kept: Path, *, minutes: float = 1e9) -> list[dict[str, Any]]:
    """The rows of all worlds: those that are kept and the others, which are then kept as well."""
    own = made_by()
    records = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    todo = [[name, way, seed] for seed in seeds for way in CLASSES for name in GENERATORS]
    records = [one for one in records if one["made_by"] == own and one["world"] in todo]
    done = [one["world"] for one in records]
    kept.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes
    with kept.open("a") as file:
        for number, (name, way, seed) in enumerate(todo, 1):
            if [name, way, seed] in done:
                continue
            if time.monotonic() > end:
                break
            world = GENERATORS[name](next(one for one in WAYS if one.name == way), SIZES[0], seed)
            records.append({"made_by": own, "world": [name, way, seed], "rows": study(world)})
            file.write(json.dumps(records[-1]) + "\n")
            file.flush()
            print(f"{number} of {len(todo)}: {name}, {way}, seed {seed}", flush=True)
    return [{"way": one["world"][1], "seed": one["world"][2], **row} for one in records for row in one["rows"]]


# ---- the page ----------------------------------------------------------------------------------------------------


def mean_tau(rows: Sequence[dict[str, Any]], remedy: str, depth: int, way: str = "") -> float:
    """The mean τ of a remedy; over all ways to be observed, each with the same weight, where none is named."""
    ways = [way] if way else list(CLASSES)
    means = []
    for one in ways:
        own = [row["tau"] for row in rows if (row["remedy"], row["depth"], row["way"]) == (remedy, depth, one)]
        means += [float(np.mean(own))] if own else []
    return float(np.mean(means)) if means else float("nan")


def cell(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}".replace("-", "−")


def by_depth(rows: Sequence[dict[str, Any]]) -> str:
    """A row for each remedy, a column for each depth; then its worst way at each depth."""
    lines = []
    for remedy in REMEDIES:
        means = [mean_tau(rows, remedy, depth) for depth in DEPTHS]
        worst = [min((mean_tau(rows, remedy, depth, way) for way in CLASSES), default=np.nan) for depth in DEPTHS]
        lines.append([remedy, *(f"{cell(mean)} ({cell(low)})" for mean, low in zip(means, worst))])
    return table(["remedy", *map(depth_name, DEPTHS)], lines)


def by_way(rows: Sequence[dict[str, Any]], depth: int) -> str:
    """A row for each remedy, a column for each way to be observed."""
    lines = [[remedy, *(cell(mean_tau(rows, remedy, depth, way)) for way in CLASSES)] for remedy in REMEDIES]
    return table(["remedy", *CLASSES.values()], [line for line in lines if set(line[1:]) != {"–"}])


ABOUT = """# What helps, at which depth?

**What to do first.** A log cannot say why a pair has no rating, and no metric orders systems rightly under every
reason. So do not pick a correction and believe it:

1. See which orders [hold](claims.md) under every reading of how the ratings came about: `trueval audit`. These may
   be claimed, on lists of any length.
2. For the others, collect ratings of listed items drawn at random (`--unbiased FILE`): on as many as the test set
   has, τ with the true order was {random_10} on lists of ten and {random_all} on complete rankings, whatever the
   log was like.
3. If you can rank all items, report condensed nDCG (`--condensed`) or bpref beside the plain metric: on **complete
   rankings** their τ was {condensed_all} and {bpref_all} ({plain_all} plain). On **lists of ten** it was
   {condensed_10} and {bpref_10} ({plain_10} plain), on lists of twenty {condensed_20} and {bpref_20} ({plain_20}):
   there they do not help.
4. What came nearest to the true order on lists is the liked share among judged items that the audit computes: τ
   {judged_10} on lists of ten (*as judged*), {judged_100} on lists of a hundred, about as near as the random test. It
   is a reading beside others, and no metric to optimise: a system that lists few judged items can have any share.
   Propensities from popularity to the power of 1 (IPS, SNIPS) reached {ips_10} on lists of ten, and {ips_value} where
   observation depends on the value; stratified recall with β = .5 {stratified_10}.

Made by `make corrections-table` (`benchmarks/corrections_table.py`): trueval {version}, {machine}, {date}; {worlds}
worlds of 700 users and 350 items, seeds {first:,} to {last:,} of two generators ([how they are
made](claims.md#how-it-is-measured)). What exact propensities, percentile designs, uniform tests and removing the
head do on complete rankings is [a page of its own](corrections-complete.md).

## By depth

Kendall's τ between the order of eleven systems by each remedy and their true order, which is by nDCG at the same
depth on the complete ratings. Means over all ways to be observed below, each with the same weight; in brackets the
mean of the way where the remedy does worst. Metrics with a cutoff have it at the depth of the lists; complete
rankings have none.

{by_depth}
## By what observation depends on

*Value*: each level below the best makes a rating less likely by e^−1. *Popularity γ*: a pair is observed with a
probability ∝ popularity^γ, and popularity is aligned with, independent of, or opposed to the quality of items.
*Popularity and value*: ∝ popularity^.6 e^(.5 level). *Self-selected*: the rarer an item, the more only those meet it
who expect to like it.

{by_way}"""


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page of the documentation."""
    seeds = sorted({row["seed"] for row in rows})
    names = {"random": RANDOM, "plain": PLAIN, "condensed": CONDENSED, "bpref": BPREF, "judged": JUDGED, "ips": IPS,
             "stratified": STRATIFIED[0]}  # fmt: skip
    figures = {
        f"{word}_{depth or 'all'}": cell(mean_tau(rows, remedy, depth))
        for word, remedy in names.items() for depth in DEPTHS
    }  # fmt: skip
    figures["ips_value"] = cell(mean_tau(rows, IPS, DEPTHS[0], "value 1"))
    one = [row for row in rows if row["remedy"] == PLAIN and row["depth"] == COMPLETE]
    ways = "\n".join(f"### {depth_name(depth).capitalize()}\n\n{by_way(rows, depth)}" for depth in DEPTHS)
    return ABOUT.format(
        version=tv.__version__, machine=f"Python {platform.python_version()}, {platform.machine()}",
        date=time.strftime("%Y-%m-%d"), worlds=len(one), first=seeds[0], last=seeds[-1], by_depth=by_depth(rows),
        by_way=ways, **figures,
    )  # fmt: skip


def main() -> None:
    """Make the worlds that are missing, print the page and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no world after so many")
    parser.add_argument("--kept", type=Path, default=KEPT, help=f"finished worlds (default: {KEPT})")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + chosen.seeds)
    text = page(run(seeds, chosen.kept, minutes=chosen.minutes))
    print(text)
    if chosen.output is not None:
        chosen.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
