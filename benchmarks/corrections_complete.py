"""Do corrections of complete rankings help? python benchmarks/corrections_complete.py [--seeds 20] [-o FILE]

Every world (a seed and a way to be observed, `corrections_complete_study.py`) that is finished is kept in a file, and
not made again: who stops this goes on where it ended. Worlds that were made by other code are made again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import corrections_complete_study
import trueval
from corrections_complete_study import (
    LEARNED,
    NOISES,
    PER_USER,
    PLAIN,
    RANDOM,
    RATIO,
    SEEN,
    STRENGTHS,
    TARGETS,
    Seen,
    study,
)
from coverage_other import table
from trueval.statistics.multiple_comparisons import corrected

KEPT = Path("build/corrections_complete.jsonl")
SIZE: dict[str, Any] = {"users": 600, "items": 300, "ratings": 15_000}
WAYS = {
    "neither": "neither", "value": "value", "independent": "popularity, independent",
    "aligned": "popularity, aligned", "opposed": "popularity, opposed", "both": "popularity and value",
}  # fmt: skip
COLUMNS = {"independent": "independent", "aligned": "aligned", "opposed": "opposed", "both": "independent, and value"}
SHOWN = 1.0  # the γ of the figure
LEVEL = 0.05


def made_by() -> str:
    """What the kept worlds depend on: a version, sizes, and the code of the study."""
    code = Path(corrections_complete_study.__file__).read_bytes()
    return hashlib.sha256(code + json.dumps([trueval.__version__, SIZE]).encode()).hexdigest()[:12]


def one(seen: Seen, seed: int) -> list[dict[str, Any]]:
    return study(seen, seed=seed, **SIZE)


def run(seeds: Sequence[int], kept: Path, *, processes: int) -> pl.DataFrame:
    """All worlds of these seeds: those that are kept, and the others, which are then kept as well."""
    own, rows = made_by(), []
    if kept.exists():
        worlds = [json.loads(line) for line in kept.read_text().splitlines()]
        rows = [row for world in worlds if world["made_by"] == own for row in world["rows"]]
    done = {(row["way"], row["gamma"], row["seed"]) for row in rows}
    todo = [(seen, seed) for seed in seeds for seen in SEEN if (seen.way, seen.gamma, seed) not in done]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool, kept.open("a") as file:
        waiting = {pool.submit(one, *task): task for task in todo}
        for number, future in enumerate(as_completed(waiting), 1):
            rows += future.result()
            file.write(json.dumps({"made_by": own, "rows": future.result()}) + "\n")
            file.flush()
            print(f"{number} of {len(todo)}: {waiting[future][0].name}, seed {waiting[future][1]}", flush=True)
    found = pl.DataFrame(rows, infer_schema_length=None)
    return found.filter(pl.col("seed").is_in(list(seeds))).sort("way", "gamma", "seed", maintain_order=True)


# ---- the page ----------------------------------------------------------------------------------------------------


def summary(found: pl.DataFrame) -> pl.DataFrame:
    """A row for each way, γ and correction: τ, its spread over seeds, errors, and the difference to plain nDCG."""
    keys = ["way", "gamma", "correction"]
    plain = found.filter(pl.col("correction") == PLAIN).select("way", "gamma", "seed", plain="tau")
    both = found.join(plain, on=["way", "gamma", "seed"], maintain_order="left").with_columns(
        more=pl.col("tau") - pl.col("plain")
    )
    means = both.group_by(keys, maintain_order=True).agg(
        pl.col("tau").mean(), pl.col("at_best").mean(), pl.col("bias").mean(), seeds=pl.col("seed").n_unique(),
        spread=pl.col("tau").std(), rmse=pl.col("square").mean().sqrt(), differences=pl.col("more"),
    )  # fmt: skip
    p = [difference_p(row) for row in means["differences"]]
    more = [float(np.mean(row.drop_nulls().to_numpy() if len(row) else [0.0])) for row in means["differences"]]
    return means.drop("differences").with_columns(more=pl.Series(more), p=pl.Series(corrected(np.array(p))))


def difference_p(values: pl.Series) -> float:
    """p of a paired t-test over seeds; 1 where nothing differs."""
    from scipy.stats import ttest_1samp

    known = values.drop_nulls().to_numpy()
    if len(known) < 3 or np.ptp(known) == 0:
        return 1.0 if len(known) < 3 or known[0] == 0 else 0.0
    return float(ttest_1samp(known, 0.0).pvalue)


def cell(row: dict[str, Any] | None) -> str:
    """τ ± its spread, and the error in per cent; a mark where it differs from plain nDCG."""
    if row is None:
        return ""
    mark = "" if row["p"] >= LEVEL else " ▲" if row["more"] > 0 else " ▼"
    error = [] if row["bias"] is None else [f"{signed(row['bias'])} ({100 * row['rmse']:,.0f})"]
    spread = "" if row["spread"] is None else f" ± {row['spread']:.2f}"  # of one seed there is none
    order = f"{minus(row['tau'])}{spread}{mark}"
    return "; ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in (order, *error))  # two lines at most


def minus(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def signed(share: float) -> str:
    return f"{100 * share:+,.0f}".replace("-", "−")


def the_table(means: pl.DataFrame) -> str:
    """A row for each correction and γ, a column for each way; where γ is 0, popularity plays no part."""
    known = {(row["way"], row["gamma"], row["correction"]): row for row in means.iter_rows(named=True)}
    rows = []
    for name in TARGETS:
        best = [row["at_best"] for (_, _, own), row in known.items() if own == name and row["at_best"] is not None]
        for gamma in (0.0, *STRENGTHS):
            ways = COLUMNS if gamma else {"neither": "", "": "", " ": "", "value": ""}
            said = ["", ""] if gamma else [name, f"{np.mean(best):.2f}" if best else "–"]
            rows.append([*said, f"{gamma:g}", *(cell(known.get((way, gamma, name))) for way in ways)])
    return table(["correction", "at best", "γ", *COLUMNS.values()], rows)


def the_figure(means: pl.DataFrame) -> str:
    """A block that draws the mean τ at one γ: a row for each correction, a point for each way."""
    chosen = means.filter((pl.col("gamma") == SHOWN) | (pl.col("gamma") == 0))
    points: dict[str, dict[str, float]] = {name: {} for name in TARGETS}
    for way in WAYS:
        for row in chosen.filter(pl.col("way") == way).iter_rows(named=True):
            points[row["correction"]][WAYS[way]] = round(row["tau"], 3)
    says = "1: the true order of systems; 0: none in common with it. Means over the seeds."
    title = f"τ with the true order, by correction and observation (γ = {SHOWN:g})"
    lines = ",\n".join(f"    {name!r}: {own!r}" for name, own in points.items())
    return f"```{{chart}}\ndots({title!r}, {{\n{lines},\n}}, says={says!r}, x='mean τ')\n```\n"


def what_changed(means: pl.DataFrame) -> str:
    """For each way, the corrections that order systems better than plain nDCG at all γ, and worse at any."""
    lines = []
    for way, words in WAYS.items():
        own = means.filter((pl.col("way") == way) & ~pl.col("correction").is_in([PLAIN, RANDOM]))
        sure = own.with_columns(up=(pl.col("p") < LEVEL) & (pl.col("more") > 0),
                                down=(pl.col("p") < LEVEL) & (pl.col("more") < 0))  # fmt: skip
        grouped = sure.group_by("correction", maintain_order=True).agg(pl.col("up").all(), pl.col("down").any())
        better, worse = (listed(grouped.filter(pl.col(side))["correction"]) for side in ("up", "down"))
        at = "" if way in ("neither", "value") else " at every γ"
        any_of = "" if way in ("neither", "value") else " at some γ"
        lines.append(f"- **{words}**: better{at}: {better}. Worse{any_of}: {worse}.")
    return "\n".join(lines) + "\n"


def what_follows(means: pl.DataFrame) -> str:
    """For each correction, how far its τ is below that of the random test at worst, by the numbers of the table."""
    rounded = means.select("way", "gamma", "correction", tau=pl.col("tau").round(2))
    best = rounded.filter(pl.col("correction") == RANDOM).select("way", "gamma", best="tau")
    short = rounded.join(best, on=["way", "gamma"]).filter(pl.col("correction") != RANDOM)
    short = short.with_columns(short=pl.col("best") - pl.col("tau"))
    worst = short.group_by("correction", maintain_order=True).agg(pl.all().sort_by("short", descending=True).first())
    rows = [
        [row["correction"], f"{max(row['short'], 0):.2f}", WAYS[row["way"]] + f", γ = {row['gamma']:g}"]
        for row in worst.sort("short", maintain_order=True).iter_rows(named=True)
    ]
    return table(["correction", "τ below the random test, at most", "there"], rows)


def listed(names: Iterable[str]) -> str:
    return "; ".join(names) or "none"


ABOUT = """# Corrections of complete rankings

Made by `make corrections-complete-table` (`benchmarks/corrections_complete.py`): trueval {version}, {machine}, {date};
seeds {first} to {last} ({seeds}) of each of {ways} worlds. The parameters of the worlds were set before any result was
seen. After a look at first results (of seeds 0 to 2, among others) the random test was added for comparison, and the
fits of β and GAMMA were mended, which had found popularity at work where γ = 0.

Worlds are `tv.simulate("world", …)` with {users} users, {items} items and about {ratings:,} ratings, of which a random
{ratio:.0%} is the test part. The true value of a metric is that on the complete ratings of all pairs that are not in
train. The probability that a pair is observed depends on

- **neither** popularity nor value (`gamma=0`, `value_bias=0`);
- **value**: each level below the best makes a rating less likely by e^−0.5 (`gamma=0`, `value_bias=0.5`);
- **popularity** to the power of γ (`gamma=γ`, `value_bias=0`), which is *independent* of the quality of items
  (`alignment=0`), *aligned* with it (0.8) or *opposed* to it (−0.8);
- **popularity and value** (`gamma=γ`, `value_bias=0.5`, `alignment=0`).

In all of them it also depends on how active the user is. {number} systems are fitted once in each world and measured
in every way on the same train and test part: {learned}; oracles that know the mean of every pair, with noise of
{noises} standard deviations; and two oracles whose scores are raised or lowered by the logarithm of train popularity,
as much as the means vary.

## Corrections

- *Random test of the same size*: no correction, but nDCG@10 on about as many ratings of items drawn at random. What it
  lacks to 1 is chance, and systems that are nearly equal.
- *Stratified recall* weights relevant items by (relevant ratings)^−β, over all users together. The right β is fitted to
  the complete ratings; nobody who has only a log knows it. β − 0.5 is at least 0.
- *IPS* is ips(precision)@10, *SNIPS* is snips(recall)@10. *Exact* takes the true probability that a pair is tested,
  given that it is not in train; *exact for the log* the true probability that it is in the log, times the share that
  is tested, as if pairs of train were ranked too. *popularity:1* needs no random data; *fitted* is
  popularity:GAMMA, its power fitted to the liked ones among {sampled} random items of each user. This law has no scale,
  so that errors of IPS with it say nothing. With the same propensities, IPS and SNIPS order systems alike: they differ
  by a factor that all systems have in common.
- *P1R* (10 classes) and *U1R* are nDCG@10 of each relevant item alone, among items of its popularity class, and on a
  part of the test ratings that has equally many of each item. *Head removed* is nDCG@10 without the most-rated tenth.
- *Condensed* rankings contain judged items only, which are {judged:.1f} per user on average: fewer than 10.

## Results

Each cell: mean τ ± its standard deviation over the seeds, between measured and true order of systems; the true order
is by nDCG@10 on the complete ratings. Then the error of values against the true ones of the same metric: bias (root
mean squared error) over systems and seeds, in per cent of the mean true value; none for 1R, whose values have a meaning
of their own. *At best* is the mean τ between the true order by the corrected metric itself and by nDCG@10. ▲ ▼: τ is
higher or lower than that of plain nDCG@10 (paired t-test over seeds, Holm's correction over all cells, 5 %). Columns
say how popularity, by which pairs are observed, and quality go together. In rows with γ = 0 popularity plays no part:
the first column is observation by *neither*, the last by *value* alone.

{table}
{figure}
Where the order of systems is better or worse than by plain nDCG@10, by the same test:

{changed}
## What follows

Nobody who has only a log knows which of these observations it is, so that a correction must do well under all of
them. How far its mean τ is below that of the random test where it does worst:

{follows}
**This is about systems that rank all items.** Condensed nDCG and bpref see how every judged item is ranked there; in
lists of ten or twenty they see the few judged items that systems chose to list, and hardly help
([by depth](corrections.md)). Nor do the worlds of this table include raters who select rare items because they like
them. False positives (antiprecision, fallout) are right only where popular items are liked less than others, which
their ratings tell; removing the head is right nowhere. Propensities help where they are known and do not differ too
much: at γ = 2 even exact ones order systems far worse than at γ = 1. A test of items drawn at random needs none of
this.
"""


def page(found: pl.DataFrame) -> str:
    """The page of the documentation."""
    means, seeds = summary(found), sorted(found["seed"].unique().to_list())
    return ABOUT.format(
        version=trueval.__version__, machine=f"Python {platform.python_version()}, {platform.machine()}",
        date=time.strftime("%Y-%m-%d"), seeds=len(seeds), first=seeds[0], last=seeds[-1], ways=len(SEEN), **SIZE,
        ratio=RATIO, number=len(LEARNED) + len(NOISES) + 2, learned=", ".join(LEARNED),
        noises=", ".join(f"{size:g}" for size in NOISES[:-1]) + f" and {NOISES[-1]:g}", sampled=PER_USER,
        judged=RATIO * SIZE["ratings"] / SIZE["users"], table=the_table(means), figure=the_figure(means),
        changed=what_changed(means), follows=what_follows(means),
    )  # fmt: skip


def main() -> None:
    """Make the worlds that are missing, print the page and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kept", type=Path, default=KEPT, help=f"finished worlds (default: {KEPT})")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    text = page(run(range(chosen.seeds), chosen.kept, processes=chosen.processes))
    print(text)
    if chosen.output is not None:
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
