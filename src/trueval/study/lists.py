"""The lists of a participant: every system's best items for their ratings, without what they have rated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from trueval.data.run_tables import read_run
from trueval.errors import DataError
from trueval.experiments.system_entries import system_errors
from trueval.kernels.hashing import item_key
from trueval.kernels.seeds import derive
from trueval.recommenders.new_users import can_fold_in, score_new_user
from trueval.study.catalogue import Catalogue
from trueval.study.definition import Study
from trueval.study.plan import RANDOM_LIST


@dataclass(frozen=True)
class ListMaker:
    """Systems that are fitted, and runs that are read, ready to make lists."""

    study: Study
    catalogue: Catalogue
    fitted: dict[str, Any]
    runs: dict[str, dict[str, np.ndarray]]  # of each run file: codes of items by user, best first
    equals: np.ndarray  # the order among equal scores

    @property
    def known_users(self) -> list[str]:
        """Users for whom every run file has a list; only they can take part where there are run files."""
        users = [set(lists) for lists in self.runs.values()]
        return sorted(set.intersection(*users)) if users else []

    def make(self, ratings: Mapping[str, float], number: int, known_user: str | None = None) -> dict[str, list[str]]:
        """A list of ids for every system, all of the same length, and one of random items where that is planted.

        `ratings` are by the text of the item's id. A `known_user` is someone of the log, whose rows there count too.
        """
        codes = self.catalogue.codes
        own = {codes[item]: value for item, value in ratings.items() if item in codes}
        return self.make_by_code(own, number, known_user)

    def make_by_code(
        self, ratings: Mapping[int, float], number: int, known_user: str | None = None
    ) -> dict[str, list[str]]:
        """The same for ratings by code."""
        profile = self._profile(ratings, known_user)
        items, values = np.array(sorted(profile), np.int64), np.array([profile[code] for code in sorted(profile)])
        best: dict[str, np.ndarray] = {}
        for name in self.study.systems:
            if name in self.runs:
                listed = self.runs[name].get(known_user or "", np.empty(0, np.int64))
                best[name] = listed[~np.isin(listed, items)]
            else:
                best[name] = self._best(self._scores(name, items, values), items)
        if self.study.checks.random:
            chance = np.random.default_rng(int(derive(self.study.about.seed, f"random list {number}")))
            best[RANDOM_LIST] = self._best(chance.random(len(self.equals)), items)
        length = min(self.study.lists.length, *(len(one) for one in best.values()))
        ids = self.catalogue.ids
        return {name: [ids[code] for code in one[:length]] for name, one in best.items()}

    def _scores(self, name: str, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The scores of a system, which may be anybody's; items without one come last."""
        scores = score_new_user(self.fitted[name], items, values, name=name)
        if scores.shape != self.equals.shape or np.isnan(scores).all():
            raise DataError(
                f"{name} does not score the items of the log and the table of items", where=f"score_new of {name}",
                found=f"shape {scores.shape} for {len(self.equals):,} items" if scores.shape != self.equals.shape
                else "no score is a number", do="return one number for each item",
            )  # fmt: skip
        return np.where(np.isnan(scores), -np.inf, scores)

    def _profile(self, ratings: Mapping[int, float], known_user: str | None) -> dict[int, float]:
        """What a person has rated, and what the log has of them."""
        train, before = self.catalogue.train, dict[int, float]()
        if known_user is not None:
            user = train.users.codes(pl.Series([known_user]).cast(train.users.values.dtype, strict=False))[0]
            if user >= 0:
                rows = slice(train.log.start[user], train.log.start[user + 1])
                values = np.ones(rows.stop - rows.start) if train.log.value is None else train.log.value[rows]
                before = dict(zip(train.log.item[rows].tolist(), values.tolist()))
        return {**before, **ratings}

    def _best(self, scores: np.ndarray, rated: np.ndarray) -> np.ndarray:
        """Codes of the items with the highest scores, without rated ones; equal scores in an order drawn once."""
        scores = scores.astype(np.float64)
        scores[rated] = -np.inf
        length = min(self.study.lists.length, len(scores) - len(rated))
        if length <= 0:
            return np.empty(0, np.int64)
        lowest = np.partition(scores, len(scores) - length)[len(scores) - length]
        candidates = np.flatnonzero(scores >= lowest)
        order = np.lexsort((self.equals[candidates], -scores[candidates]))
        return candidates[order[:length]]


def fit_systems(study: Study, catalogue: Catalogue, *, told: Callable[[str], None] = lambda text: None) -> ListMaker:
    """Fit all systems on the whole log, and read the run files; try each of them on somebody of the log."""
    fitted: dict[str, Any] = {}
    runs: dict[str, dict[str, np.ndarray]] = {}
    for name, entry in study.systems.items():
        told(f"preparing {name}")
        with system_errors(entry), entry.importable():
            made = entry.made(study.about.seed, 1, test=None)
            if entry.kind == "run":
                runs[name] = _read_lists(made, catalogue)
                continue
            fitted[name] = made.fit(catalogue.train)
            if not can_fold_in(fitted[name]):
                score_new_user(fitted[name], [0], [1.0], name=name)  # says why not
    codes = np.arange(len(catalogue.items))
    equals = item_key(np.asarray(derive(study.about.seed, "equal scores")), codes)
    maker = ListMaker(study, catalogue, fitted, runs, equals)
    _try(maker)
    return maker


def _read_lists(run: Any, catalogue: Catalogue) -> dict[str, np.ndarray]:
    """The lists of a run file by user, as codes; items that nobody can be shown are refused."""
    table = read_run(run.source, columns=run.columns)
    table = table.with_columns(pl.Series("code", catalogue.train.items.codes(table["item"]), pl.Int64))
    unknown = table.filter(pl.col("code") < 0)
    if len(unknown):
        raise DataError(
            "the run recommends items that are neither in the log nor in the table of items", where=str(run.source),
            found=f"{len(unknown):,} rows, among them item {unknown['item'][0]}", do="add them to the table of items",
        )  # fmt: skip
    ranked = "rank" in table.columns
    table = table.sort("rank" if ranked else "score", descending=not ranked, maintain_order=True)
    lists = table.group_by(pl.col("user").cast(pl.String), maintain_order=True).agg("code")
    return {user: np.array(codes) for user, codes in lists.iter_rows()}


def _try(maker: ListMaker) -> None:
    """Make the lists of somebody of the log once: what would fail for participants fails now."""
    train = maker.catalogue.train
    busiest = int(np.argmax(train.log.counts))
    items = train.log.item[train.log.start[busiest] : train.log.start[busiest + 1]]
    scale = maker.study.ratings.scale
    known = maker.known_users[0] if maker.runs and maker.known_users else None
    if maker.runs and known is None:
        raise DataError(
            "no user has a list in every run file", where=", ".join(maker.runs), do="give runs of the same users"
        )
    least = max(1, min(len(items), maker.study.ratings.least))
    lists = maker.make_by_code({int(code): scale[-1] for code in items[:least]}, 0, known)
    shortest = min(map(len, lists.values()))
    if shortest < maker.study.lists.visible:
        raise DataError(
            "lists would be shorter than what should be visible of them",
            where=maker.study.written.at("lists", "visible"),
            found=f"{shortest} items of {len(maker.catalogue.items):,}", do="make visible smaller, or add items",
        )  # fmt: skip
