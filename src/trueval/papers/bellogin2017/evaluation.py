"""The evaluations that several figures share: every system is fitted once per split, and ranked under all designs."""

from __future__ import annotations

import tomllib
from typing import Any

import polars as pl

from trueval.data.interactions import Interactions
from trueval.experiments.result import ExperimentResult
from trueval.papers.experiment_files import experiment_text
from trueval.papers.setting import Setting
from trueval.splits import split

LIKED = 5.0  # ratings from here on are positive, as in §3.3
SYSTEMS = ("pLSA", "MF", "kNN", "popularity", "random")
OTHER_METRICS = {"recall@10": "recall", "ndcg@10": "nDCG", "ap": "MAP", "rr": "MRR"}
HOLDOUT, UNIFORM = "bellogin2017-holdout", "bellogin2017-uniform"
SIZES = (100, 200, 400, 700, 1000)  # of target sets, in figure 3
_SAMPLE_OF_AR = 1700
_MOVIELENS = 1_000_209, 6040, 3706


def other_data(setting: Setting) -> str:
    """Why printed numbers cannot be compared, where the data are not those of the paper."""
    log = setting.log
    if (len(log), log.n_users, log.n_items) == _MOVIELENS:
        return ""
    return "the paper's number is of MovieLens 1M"


def target_size(log: Interactions) -> int:
    """|T_u| in 1R: 100 as in the paper; a thirtieth of the items where these are few, so that a percentile has as many.

    >>> target_size(Interactions.of(pl.DataFrame({"user": range(900), "item": range(900)})))
    30
    """
    return 100 if log.n_items >= 3000 else max(10, log.n_items // 30)


def one_relevant_design(log: Interactions) -> str:
    """The 1R design of most figures."""
    return f"1R-TI-NN{target_size(log) - 1}"


def bound_designs(log: Interactions) -> dict[int, str]:
    """The designs of figure 3, by the size of their target sets."""
    most = log.n_items // 2
    sizes = [size for size in SIZES if size <= most]
    return {size: f"AR-TI-NN{size - 1}" for size in [target_size(log), *sizes]}


def definition_of(setting: Setting, name: str) -> dict[str, Any]:
    """The experiment of a file, with fewer splits and factors if `quick`, and samples that smaller data allow."""
    definition = tomllib.loads(experiment_text(name))
    log, evaluation = setting.log, definition["evaluation"]
    seeds = definition["split"]["seeds"]
    definition["split"]["seeds"] = [setting.seed + one for one in (seeds[:1] if setting.quick else seeds)]
    if setting.quick:
        definition["systems"]["pLSA"] |= {"factors": 20, "iterations": 40}
        definition["systems"]["MF"] |= {"factors": 20, "sweeps": 8}
    sampled = target_size(log) - 1
    designs = [one.replace("NN99", f"NN{sampled}") for one in evaluation["designs"] if _kept(one)]
    if name == HOLDOUT:
        designs += [one for one in bound_designs(log).values() if one not in designs]
        designs.append(f"AR-TI-NN{ar_sample(log)}")
    evaluation["designs"] = list(dict.fromkeys(designs))
    del definition["data"]["path"]
    return definition


def _kept(design: str) -> bool:
    """Whether a design is not one of those whose samples depend on the data."""
    return not design.startswith("AR-TI-NN")


def ar_sample(log: Interactions) -> int:
    """|N_u| of AR beside UAR in figure 8: 1,700, or as many as the items of a uniform test where these are fewer."""
    return min(_SAMPLE_OF_AR, uniform_numbers(log)["items"])


def uniform_numbers(log: Interactions) -> dict[str, int]:
    """ζ = |T| and η of the uniform test of a log (σ = 0.2, ε = 0.2, η rounded as in the paper)."""
    parts = split(log, "uniform_test", ratio=0.2, eps=0.2, round="nearest", seed=0)
    assert not isinstance(parts, list)
    return {"items": int(parts.how["items"]), "eta": int(parts.how["eta"])}


def evaluated(setting: Setting, name: str) -> ExperimentResult:
    """The experiment; its facts stay in the folder until the rerun is finished."""
    return setting.experiment(definition_of(setting, name))


def design_values(setting: Setting) -> pl.DataFrame:
    """One row per design, split, system and metric: the value, and that of a random ranking."""
    return setting.step("designs", _design_values)


def _design_values(setting: Setting) -> pl.DataFrame:
    return pl.concat([values_of(evaluated(setting, name)) for name in (HOLDOUT, UNIFORM)])


def values_of(found: ExperimentResult) -> pl.DataFrame:
    """The values of an experiment by design, split, system and metric; labels of metrics without their samples."""
    rows = [
        (design, repeat or "one split", system, label.partition("|n=")[0], estimate.value, evaluation.random.get(label))
        for design, result in found.results.items()
        for repeat, evaluation in (result.repeats or {"": result.evaluation}).items()
        for system, one in evaluation.systems.items()
        for label, estimate in one.estimates.items()
    ]
    columns = ("design", "split", "system", "metric", "value", "by_chance")
    kinds = (pl.String, pl.String, pl.String, pl.String, pl.Float64, pl.Float64)
    return pl.DataFrame(rows, schema=dict(zip(columns, kinds)), orient="row")


def means(values: pl.DataFrame) -> pl.DataFrame:
    """Means and standard deviations over splits, in the order of the rows."""
    by = [column for column in values.columns if column not in ("split", "value", "by_chance")]
    return values.group_by(by, maintain_order=True).agg(
        pl.col("value").mean(), pl.col("value").std().alias("spread"), pl.col("by_chance").mean(), splits=pl.len()
    )


def value(table: pl.DataFrame, **where: Any) -> float:
    """The one value of a table of means in a place."""
    return float(table.filter(**where)["value"].item())
