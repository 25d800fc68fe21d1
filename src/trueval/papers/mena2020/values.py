"""Values of all systems, as the authors compute them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import polars as pl

from trueval.api import evaluate, evaluate_run
from trueval.comparison.tau import taus
from trueval.data.interactions import Interactions
from trueval.evaluation.outcome import Evaluation
from trueval.facts.ranking_facts import RankingFacts
from trueval.papers.experiment_files import experiment_text
from trueval.papers.mena2020.constants import FOLDS, METRICS, OPTIMAL, QUICK, QUICK_FOLDS, RECALL, SYSTEMS, UNBIASED
from trueval.papers.mena2020.data import folds, threshold_of
from trueval.papers.setting import Setting
from trueval.progress import progress
from trueval.simulation.opposed_sample import opposed_sample
from trueval.splits.parts import Parts

OBSERVED, TRUE = "observed", "true"


def tau_of(table: pl.DataFrame, one: str, other: str) -> float:
    """Kendall's τ-b of two columns over the systems, the optimal rankings left out."""
    own = table.filter(~pl.col("system").is_in(list(OPTIMAL)))
    return float(taus(own[one].to_numpy()[None], own[other].to_numpy()[None])[0][0])


def significance_of(table: pl.DataFrame, one: str, other: str) -> float:
    """p of Kendall's τ of two columns over the systems, the optimal rankings left out."""
    from scipy.stats import kendalltau

    own = table.filter(~pl.col("system").is_in(list(OPTIMAL)))
    return float(kendalltau(own[one].to_numpy(), own[other].to_numpy()).pvalue)


def movielens_values(setting: Setting) -> pl.DataFrame:
    """Means over folds of full and condensed rankings of MovieLens: ranking, system, and a column for each metric."""
    return setting.step("movielens", _movielens, quick=setting.quick)


def _movielens(setting: Setting, *, quick: bool) -> pl.DataFrame:
    definition = tomllib.loads(experiment_text("mena2020-movielens"))
    definition["data"].pop("path")
    definition["split"]["seeds"] = [setting.seed]
    if quick:
        definition["split"] = {"how": "holdout", "ratio": 0.2, "seeds": [setting.seed]}
        kept = {*QUICK, *OPTIMAL}
        definition["systems"] = {name: own for name, own in definition["systems"].items() if name in kept}
    found = setting.experiment(definition)
    frames = []
    for design, result in found.results.items():
        ranking = "condensed" if design.endswith("condensed") else "full"
        for number, evaluation in enumerate(list(result.repeats.values()) or [result.evaluation]):
            frames.append(_rows(evaluation, {"ranking": ranking, "fold": number}))
    every = pl.concat(frames, how="diagonal")
    metrics = pl.exclude("ranking", "system", "fold")
    return every.group_by("ranking", "system", maintain_order=True).agg(metrics.mean())


def _rows(evaluation: Evaluation, what: Mapping[str, str | int]) -> pl.DataFrame:
    """A row for each system. Users for whom recall is undefined, those without relevant test items, count as 0."""
    rows = []
    for name, system in evaluation.systems.items():
        values = {m: one.value for m, one in system.estimates.items()}
        recall = system.estimates[RECALL]
        values[RECALL] *= recall.n / max(1, recall.n + recall.undefined)
        rows.append({**what, "system": name, **values})
    return pl.DataFrame(rows)


def unbiased_values(setting: Setting, *, opposed: bool = False) -> pl.DataFrame:
    """Means over folds on both test sets: side ("observed", "true"), system, and a column for each metric."""
    return setting.step("unbiased", _unbiased, opposed=opposed)


def unbiased_log(setting: Setting, *, opposed: bool) -> Interactions:
    """The unbiased data; `opposed`, with the popularity of its biased part dealt against what is liked."""
    log = setting.logs[UNBIASED]
    if not opposed:
        return log
    random = log.keep(log.frame.filter("random"))
    biased = log.keep(log.frame.filter("biased"))
    dealt = opposed_sample(biased, random, threshold=threshold_of(setting), seed=setting.seed).frame
    marked = dealt.select("user", "item").with_columns(chosen=pl.lit(True))
    frame = random.frame.join(marked, on=["user", "item"], how="left", maintain_order="left")
    return log.keep(
        frame.with_columns(biased=pl.col("chosen").fill_null(False)).drop("chosen"), name=f"{log.name} opposed"
    )


def _unbiased(setting: Setting, *, opposed: bool) -> pl.DataFrame:
    threshold, frames = threshold_of(setting), []
    chosen = {**{name: own for name, own in SYSTEMS.items() if not setting.quick or name in QUICK}, **OPTIMAL}
    with progress("opposed folds" if opposed else "folds", QUICK_FOLDS if setting.quick else FOLDS) as step:
        for number, parts in enumerate(folds(setting, unbiased_log(setting, opposed=opposed))):
            lists = _lists(parts, chosen, threshold=threshold, seed=setting.seed)
            assert parts.observed is not None
            for side, test in ((OBSERVED, parts.observed), (TRUE, parts.test)):
                values = evaluate_run(
                    lists, test, metrics=list(METRICS), threshold=threshold, population="judged", interval="none"
                )
                frames.append(_rows(values.evaluation, {"side": side, "fold": number}))
            step()
    every = pl.concat(frames)
    return every.group_by("side", "system", maintain_order=True).agg(pl.col(METRICS).mean()).sort(
        "side", maintain_order=True)  # fmt: skip


def _lists(parts: Parts, systems: Mapping[str, str], *, threshold: float, seed: int) -> dict[str, pl.DataFrame]:
    """The first ten items for every user with train ratings, of the items that have any.

    Others get no list, and count as 0 where they have test ratings, as in the authors' evaluation.
    """
    known = parts.train.frame["item"].unique(maintain_order=True)
    inside = parts.test.keep(parts.test.frame.filter(pl.col("item").is_in(known.implode())))
    ranked = evaluate(
        Parts(parts.train, inside, how=parts.how), systems, design="AR-LIST-AN", items=known.to_list(),
        metrics=["precision@10"], threshold=threshold, population="all", interval="none", seed=seed, keep_facts=True,
    )  # fmt: skip
    warm = parts.train.frame.select("user").unique()
    return {name: _run(ranked.facts[name]).join(warm, on="user", how="semi") for name in systems}


def _run(facts: RankingFacts) -> pl.DataFrame:
    return pl.DataFrame({
        "user": facts.users.decode(facts.unit_user[facts.list_unit]), "item": facts.items.decode(facts.list_item),
        "rank": facts.place,
    })  # fmt: skip
