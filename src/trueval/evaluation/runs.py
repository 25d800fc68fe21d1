"""Evaluate recommendations already made: tables or files of (user, item, score or rank)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.by_user import ByUser
from trueval.data.ids import Ids, check_same_kind, plain
from trueval.data.interactions import Interactions
from trueval.data.items import read_items
from trueval.data.judged import judge
from trueval.data.read import read
from trueval.data.run_tables import read_run, scan_run
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.compat import Preset
from trueval.evaluation.experiment import make_inputs
from trueval.evaluation.manifest import make_manifest
from trueval.evaluation.measurements import Measurements, measure_facts, merge_measurements
from trueval.evaluation.outcome import Evaluation, label_specs, notes_on, random_values, summarise
from trueval.evaluation.population import check_anyone, check_population
from trueval.facts.from_run import Truth, run_facts
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.readings import condense, with_ties
from trueval.metrics.grammar import Spec, parse_all

# Rows of a streamed run that are in memory at once.
STREAMED_ROWS = 8_000_000


def evaluate_runs(
    recs: Any,
    test: Any,
    *,
    train: Any = None,
    items: Any = None,
    metrics: str | Sequence[str | Spec] = ("ndcg@10",),
    threshold: float | None = None,
    population: str = "relevant",
    ties: str = "random",
    condensed: bool = False,
    interval: str = "bootstrap",
    resamples: int = 1000,
    columns: Mapping[str, Any] | None = None,
    sorted_by_user: bool = False,
    preset: Preset | None = None,
    compat: str | None = None,
    seed: int = 0,
) -> Evaluation:
    """Measure one run or several (a mapping from names, a list of files) against one test set."""
    asked = label_specs(parse_all(metrics))
    specs = {label: preset.apply(spec) if preset else spec for label, spec in asked.items()}
    if preset is not None:
        population = preset.population
    check_population(population)
    truth_of = _TruthMaker(test, train, items, threshold, columns, population == "all", seed)
    measured: dict[str, Measurements] = {}
    users: dict[str, Ids] = {}
    for name, source in name_runs(recs).items():
        parts = []
        for facts, truth in _facts_of(source, truth_of, columns, ties=ties, sorted_by_user=sorted_by_user, name=name):
            reading = condense(facts) if condensed else facts
            inputs = make_inputs(truth.train, truth.items, truth_of.item_table)
            parts.append(
                measure_facts(
                    reading, specs, population=population, inputs=inputs, preset=preset, with_random=not measured
                )
            )
            users[name] = truth.users
        measured[name] = merge_measurements(parts)
        check_anyone(len(measured[name]), population)
    found = {
        name: summarise(m, users=users[name], interval=interval, seed=seed, resamples=resamples)
        for name, m in measured.items()
    }
    manifest = make_manifest(
        specs,
        design="given-condensed" if condensed else "given",
        population=population,
        ties=ties,
        interval=interval,
        threshold=threshold,
        seed=seed,
        compat=compat,
        data={"test": truth_of.test.fingerprint()},
    )
    first = next(iter(measured.values()))
    return Evaluation(found, specs, random_values(first), manifest, notes_on(measured, specs))


def name_runs(recs: Any) -> dict[str, Any]:
    """Names of runs: a mapping's own, or the names of the files.

    >>> list(name_runs(["a/bpr.parquet", "b/pop.csv.gz"]))
    ['bpr', 'pop']
    """
    if isinstance(recs, Mapping):
        return dict(recs)
    sources = list(recs) if isinstance(recs, (list, tuple)) else [recs]
    named: dict[str, Any] = {}
    for source in sources:
        name = Path(source).name.split(".")[0] if isinstance(source, (str, Path)) else "run"
        if name in named:
            raise DefinitionError(
                f"two runs are called {name!r}",
                found=str(source),
                do="rename a file, or give a mapping from names to runs",
            )
        named[name] = source
    if not named:
        raise DefinitionError("no run was given", do="give at least one table of recommendations")
    return named


class _TruthMaker:
    """The test set, read once; each run adds its own items to the vocabulary."""

    def __init__(
        self, test: Any, train: Any, items: Any, threshold: float | None, columns: Any, everyone: bool, seed: int
    ) -> None:
        self.test: Interactions = _read_log(test, columns, name="test")
        self.judged = judge(self.test.frame, threshold=threshold, where=self.test.name)
        self.train: Interactions | None = None
        if train is not None:
            self.train = _read_log(train, columns, name="train")
            for role in ("user", "item"):
                check_same_kind(
                    self.train.frame[role], self.test.frame[role], role=role, where=(self.train.name, self.test.name)
                )
        self.item_table = None if items is None else read_items(items)
        self.catalogue = None if self.item_table is None else self.item_table["item"]
        if self.item_table is None and self.train is not None:
            self.item_table = self.train.items
        self.everyone, self.seed = everyone, seed

    def __call__(self, run_users: pl.Series, run_items: pl.Series) -> Truth:
        """The truth for a run with these users and items."""
        users = [self.judged["user"]]
        items = [self.judged["item"], run_items]
        if self.everyone:
            users.append(run_users)
        if self.train is not None:
            items.append(self.train.frame["item"])
            if self.everyone:
                users.append(self.train.frame["user"])
        if self.catalogue is not None:
            items.append(self.catalogue)
        for column in items[1:]:
            check_same_kind(column, items[0], role="item", where=("the run", self.test.name))
        user_ids, item_ids = Ids.of(*users), Ids.of(*items)
        return self._coded(user_ids, item_ids)

    def _coded(self, users: Ids, items: Ids) -> Truth:
        user, item = users.codes(self.judged["user"]), items.codes(self.judged["item"])
        value, relevant = self.judged["value"].to_numpy(), self.judged["relevant"].to_numpy()
        rows = ByUser.of(user, item, np.arange(len(user)), n_users=len(users))
        assert rows.value is not None
        judged = ByUser(rows.start, rows.item, value[rows.value])
        train = (
            None if self.train is None else ByUser.code(self.train.frame.select("user", "item").unique(), users, items)
        )
        listed = None
        if self.catalogue is not None:
            listed = np.zeros(len(items), bool)
            listed[items.codes(self.catalogue)] = True
        return Truth(users, items, judged, relevant[rows.value], train, listed, self.seed)


def _facts_of(
    source: Any, truth_of: _TruthMaker, columns: Any, *, ties: str, sorted_by_user: bool, name: str
) -> Iterator[tuple[RankingFacts, Truth]]:
    """Facts of a run, whole or in parts by user."""
    built = ties if ties in ("random", "given") else "random"
    if not sorted_by_user:
        run = read_run(source, columns=_run_columns(columns))
        truth = truth_of(run["user"], run["item"])
        facts = run_facts(run, truth, ties=built, name=name)
        yield (facts if ties == built else with_ties(facts, ties)), truth
        return
    lazy = scan_run(source, columns=_run_columns(columns))
    ids = {role: lazy.select(pl.col(role).unique()).collect(engine="streaming")[role] for role in ("user", "item")}
    truth = truth_of(ids["user"], ids["item"])
    seen = np.zeros(len(truth.users), bool)
    for batch in _user_batches(lazy):
        codes = truth.users.codes(plain(batch["user"].unique(), where=name))
        codes = codes[codes >= 0]
        if seen[codes].any():
            user = truth.users.decode(codes[seen[codes]][:1])[0]
            raise DataError(
                "the run is not sorted by user",
                where=name,
                found=f"user {user!r} comes back after other users",
                do="sort the file by user, or leave sorted_by_user out",
            )
        seen[codes] = True
        if len(codes):
            facts = run_facts(batch, _for_users(truth, np.sort(codes)), ties=built, name=name)
            facts = facts.changed(users=truth.users, unit_user=np.sort(codes).astype(np.int32))
            yield (facts if ties == built else with_ties(facts, ties)), truth
    if not seen.all():  # users of the population who got nothing
        rest = np.flatnonzero(~seen)
        nothing = pl.DataFrame(
            {"user": ids["user"].head(0), "item": ids["item"].head(0), "rank": pl.Series([], dtype=pl.Int64)}
        )
        facts = run_facts(nothing, _for_users(truth, rest), ties=built, name=name)
        yield facts.changed(users=truth.users, unit_user=rest.astype(np.int32)), truth


def _for_users(truth: Truth, codes: np.ndarray) -> Truth:
    """The truth of some users only."""
    rows = ByUser(truth.judged.start, truth.judged.item, np.arange(len(truth.judged.item))).pick(codes)
    assert rows.value is not None
    assert truth.judged.value is not None
    judged = ByUser(rows.start, rows.item, truth.judged.value[rows.value])
    train = None if truth.train is None else truth.train.pick(codes)
    users = Ids(truth.users.decode(codes))
    return Truth(users, truth.items, judged, truth.relevant[rows.value], train, truth.catalogue, truth.seed)


def _user_batches(lazy: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Chunks of a file sorted by user, cut between users."""
    carried: pl.DataFrame | None = None
    for chunk in lazy.collect_batches(chunk_size=STREAMED_ROWS, maintain_order=True):
        frame = chunk if carried is None else pl.concat([carried, chunk])
        last = frame["user"][-1]
        inside = frame["user"] != last
        carried = frame.filter(~inside)
        yield frame.filter(inside)
    if carried is not None:
        yield carried


def _read_log(source: Any, columns: Any, *, name: str) -> Interactions:
    """A log whose columns may be named like the run's, or by common names."""
    label = Path(source).name if isinstance(source, (str, Path)) else name
    own = {role: column for role, column in (columns or {}).items() if role in ("user", "item", "value", "time")}
    try:
        return read(source, columns=own or None, name=label)
    except DataError as first:
        if not own:
            raise
        try:
            return read(source, name=label)
        except DataError:
            raise first from None


def _run_columns(columns: Any) -> Any:
    return {role: name for role, name in (columns or {}).items() if role in ("user", "item", "score", "rank")} or None
