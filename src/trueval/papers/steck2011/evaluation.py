"""The evaluation that the figures share: every system is fitted once, and everything else follows from its rankings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from trueval.audit.fewer_ratings import value_of, without_rows
from trueval.data.interactions import Interactions
from trueval.data.popularity import item_counts
from trueval.design.popular_head import find_head
from trueval.experiments.result import ExperimentResult
from trueval.facts.ranking_facts import RankingFacts
from trueval.metrics.grammar import parse
from trueval.papers.experiment_files import experiment_text
from trueval.papers.setting import Setting
from trueval.papers.steck2011.tuning import Chosen, chosen_parameters
from trueval.splits import split
from trueval.splits.parts import Parts

LIKED = 5.0
FILE = "steck2011"
MF, SVD, BEST = "MF-RMSE", "SVD", "bestseller"
CUTOFFS = (1, 2, 3, 5, 7, 10, 15, 20)
BETAS = tuple(round(0.1 * step, 1) for step in range(11))  # of the metric
WEIGHTS = ("increasing", "decreasing")
BETA_WS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0)  # of AllRank-Pop; with 0 it is AllRank
_QUICK_BETA_WS = (0.2, 0.5, 0.9)
_HEAD = 0.1


def sampled_design(log: Interactions) -> str:
    """1,000 further items for each user, as in the paper; half of the items where there are fewer."""
    return f"AR-AI-NN{min(1000, log.n_items // 2)}"


FULL = "AR-AI-AN"


def parts_of(setting: Setting) -> Parts:
    """The split: a tenth of the ratings is tested."""
    made = split(setting.log, "holdout", ratio=0.1, seed=setting.seed + 1)
    assert isinstance(made, Parts)
    return made


def beta_ws(setting: Setting) -> tuple[float, ...]:
    """The exponents that AllRank-Pop is trained with."""
    return _QUICK_BETA_WS if setting.quick else BETA_WS


def allrank(w_m: float) -> str:
    """The name of AllRank with a weight of missing ratings."""
    return f"AllRank {w_m:g}"


def pop(weights: str, beta_w: float, chosen: Chosen) -> str:
    """The name of AllRank-Pop; with exponent 0 it is AllRank with the chosen weight."""
    return allrank(chosen.w_m) if beta_w == 0 else f"{weights} {beta_w:g}"


def recall_label(k: int, beta: float) -> str:
    """Pooled recall, stratified by β."""
    return f"recall[average=pooled]@{k}" if beta == 0 else f"recall[beta={beta:g}]@{k}"


def definition_of(setting: Setting) -> dict[str, Any]:
    """The experiment of the file, with the parameters that were chosen on these data, and more of the exponents."""
    definition = tomllib.loads(experiment_text(FILE))
    chosen = chosen_parameters(setting)
    common = {"factors": chosen.factors, "regularization": chosen.regularization}
    common |= {"sweeps": chosen.sweeps}
    systems: dict[str, Any] = {
        MF: {"system": "mf_rmse", **chosen.mf, "sweeps": chosen.sweeps},
        SVD: {"system": "puresvd", "factors": chosen.svd_factors},
        BEST: {"system": "popularity"},
    }
    systems |= {allrank(w): {"system": "allrank", "w_m": w, **common} for w in chosen.weights}
    systems |= {
        pop(kind, beta, chosen): {
            "system": "allrank_pop", "weights": kind, "beta_w": beta, "w_m": chosen.w_m, **common}
        for kind in WEIGHTS
        for beta in beta_ws(setting)
    }  # fmt: skip
    curves = [recall_label(k, beta) for beta in (0.0, 0.5, 1.0) for k in CUTOFFS]
    over = [recall_label(k, beta) for beta in BETAS for k in (1, 20)]
    lists = [f"{name}@{k}" for name in ("coverage", "popularity_rank[average=median]") for k in CUTOFFS]
    definition["evaluation"]["metrics"] = list(dict.fromkeys([*curves, *over, *lists]))
    definition["evaluation"]["designs"] = [sampled_design(setting.log), FULL]
    definition["split"]["seed"] = setting.seed + 1
    del definition["data"]["path"]
    return {**definition, "systems": systems}


def evaluated(setting: Setting) -> ExperimentResult:
    """The experiment; its facts stay in the folder until the rerun is finished."""
    return setting.experiment(definition_of(setting))


def list_facts(setting: Setting, systems: list[str]) -> Mapping[str, RankingFacts]:
    """What some systems rank first among all items; where the experiment was just made, nothing is fitted again."""
    definition = definition_of(setting)
    evaluation = {**definition["evaluation"], "designs": [FULL], "metrics": ["coverage@20"]}
    del evaluation["by"]
    chosen = {name: definition["systems"][name] for name in systems}
    return setting.experiment({**definition, "evaluation": evaluation, "systems": chosen})[FULL].facts


def recalls(setting: Setting) -> pl.DataFrame:
    """Recall by system, k and β, of the sampled design."""
    return setting.step("recall", _recalls, design=sampled_design(setting.log))


def _recalls(setting: Setting, design: str) -> pl.DataFrame:
    result = evaluated(setting)[design]
    pairs = {*((k, beta) for beta in (0.0, 0.5, 1.0) for k in CUTOFFS), *((k, b) for b in BETAS for k in (1, 20))}
    rows = [
        (system, k, beta, result[system, recall_label(k, beta)].value)
        for system in result.evaluation.systems
        for k, beta in sorted(pairs)
    ]
    return pl.DataFrame(rows, schema=("system", "k", "beta", "value"), orient="row")


def recalls_without_head(setting: Setting) -> pl.DataFrame:
    """Recall by system and k where the tenth of the items that is rated most does not count."""
    return setting.step("recall without head", _without_head, design=sampled_design(setting.log))


def _without_head(setting: Setting, design: str) -> pl.DataFrame:
    """Head items stay in the rankings and count as nothing: a list that is full of them has no recall."""
    facts = evaluated(setting)[design].facts
    rows = []
    for system in facts:
        own = facts[system]
        head = find_head(item_counts([setting.log.frame], own.items, "users"), _HEAD, where=design)
        left = without_rows(own, ~np.isin(own.item, head))
        rows += [(system, k, value_of(parse(recall_label(k, 0.0)), left)[0]) for k in CUTOFFS]
    return pl.DataFrame(rows, schema=("system", "k", "value"), orient="row")


def list_values(setting: Setting) -> pl.DataFrame:
    """Coverage and median popularity rank of the first k, by system, ranked among all items."""
    return setting.step("lists", _list_values)


def _list_values(setting: Setting) -> pl.DataFrame:
    result = evaluated(setting)[FULL]
    rows = [
        (system, k, result[system, f"coverage@{k}"].value, result[system, f"popularity_rank[average=median]@{k}"].value)
        for system in result.evaluation.systems
        for k in CUTOFFS
    ]
    return pl.DataFrame(rows, schema=("system", "k", "coverage", "median_rank"), orient="row")


def group_values(setting: Setting) -> pl.DataFrame:
    """Recall@20 for β = 0, 0.5 and 1 of groups of users, by the popularity of their items and by activity."""
    return setting.step("groups", _group_values, design=sampled_design(setting.log))


def _group_values(setting: Setting, design: str) -> pl.DataFrame:
    result = evaluated(setting)[design]
    labels = {f"{label}|n={design.partition('NN')[2]}": beta for beta in (0.0, 0.5, 1.0)
              for label in (str(parse(recall_label(20, beta))),)}  # fmt: skip
    found = []
    for by in ("taste", "activity"):
        own = result.by(by).filter(pl.col("metric").is_in(list(labels)))
        beta = pl.col("metric").replace_strict(labels, return_dtype=pl.Float64)
        found.append(own.select(pl.lit(by).alias("by"), "system", "group", beta.alias("beta"), "value"))
    return pl.concat(found)


def liked_counts(parts: Parts) -> pl.DataFrame:
    """Items by their number of relevant train ratings, most first: item, liked, rank."""
    liked = parts.train.frame.filter(pl.col("value") >= LIKED).group_by("item").len("liked")
    items = pl.concat([parts.train.frame["item"], parts.test.frame["item"]]).unique().sort().to_frame()
    counted = items.join(liked, on="item", how="left").fill_null(0)
    return counted.sort("liked", "item", descending=[True, False]).with_row_index("rank", offset=1)
