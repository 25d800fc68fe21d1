"""Evaluate recommendations already made: tables or files of (user, item, score or rank)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.data.failures import reading
from trueval.data.ids import Ids, plain
from trueval.data.run_tables import read_run, scan_run
from trueval.design.head import check_head_share, head_word
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.groups import Groups
from trueval.evaluation.measurements import Measurements, merge_measurements
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.rules import Rules
from trueval.evaluation.truth import TruthSource
from trueval.evaluation.without_head import NAME, head_places
from trueval.facts.from_run import run_facts
from trueval.facts.ranking_facts import RankingFacts
from trueval.facts.readings import condense, with_ties
from trueval.facts.truth import Truth, check_common_ids
from trueval.metrics.inputs import Inputs

# Rows of a streamed run that are in memory at once.
STREAMED_ROWS = 8_000_000
# A file with more rows is streamed, too, where it turns out to be sorted by user.
MANY_ROWS = 4 * STREAMED_ROWS


def evaluate_runs(
    recs: Any,
    test: Any,
    rules: Rules,
    *,
    train: Any = None,
    items: Any = None,
    condensed: bool = False,
    without_head: float | None = None,
    columns: Mapping[str, Any] | None = None,
    sorted_by_user: bool = False,
) -> Evaluation:
    """Measure one run or several (a mapping from names, a list of files) against one test set."""
    specs = rules.specs()
    runs = name_runs(recs)
    share = None if without_head is None else check_head_share(without_head, where=NAME)
    held = TruthSource(test, rules, train=train, items=items, columns=columns, without_head=share)
    if len(runs) > 1 and items is None:  # one catalogue for all, or coverage would not be comparable
        held.others = [_items_of(source, columns) for source in runs.values()]
    measured: dict[str, Measurements] = {}
    vocabulary: dict[str, Ids] = {}
    inputs = Inputs()
    catalogue = 0
    places: dict[str, np.ndarray] = {}  # of the lists: those that hold items of the head, and all
    for name, source in runs.items():
        parts: list[Measurements] = []
        groups: list[Groups] = []
        for facts, truth in _facts_of(source, held, columns, ties=rules.ties, sorted_by_user=sorted_by_user, name=name):
            if not parts:  # parts of one run share their truth
                inputs, vocabulary[name] = held.inputs(truth), truth.users
                groups = held.groups(truth, inputs)
            if truth.head is not None:
                places[name] = places.get(name, 0) + head_places(facts, truth.head, specs.values())
            reading, catalogue = condense(facts) if condensed else facts, facts.catalogue
            parts.append(rules.measure(reading, specs, inputs=inputs, groups=groups, first=not measured))
        measured[name] = merge_measurements(parts)
    notes = []
    if items is None and any(spec.metric.system for spec in specs.values()):
        notes.append("no catalogue was given: items are those of the runs, the test and the train set (--items)")
    if held.left_out is not None:
        notes += held.left_out.notes(places, condensed=condensed)
    return rules.conclude(
        measured,
        specs,
        users=vocabulary,
        inputs=inputs,
        notes=notes,
        design=_design_of(share, condensed=condensed),
        without_head=None if held.left_out is None else held.left_out.record(condensed=condensed),
        data={name: log.fingerprint() for name, log in (("train", held.train), ("test", held.test)) if log is not None},
        catalogue=catalogue,
    )


def _design_of(without_head: float | None, *, condensed: bool) -> str:
    """The design of lists that were given, in the words that other designs have for the same."""
    head = [] if without_head is None else [head_word(without_head)]
    return "-".join(["given", *head, *(["condensed"] if condensed else [])])


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


def _facts_of(
    source: Any, held: TruthSource, columns: Any, *, ties: str, sorted_by_user: bool, name: str
) -> Iterator[tuple[RankingFacts, Truth]]:
    """Facts of a run, whole or in parts by user."""
    built = ties if ties in ("random", "given") else "random"
    lazy = scan_run(source, columns=_run_columns(columns)) if sorted_by_user else _large(source, columns)
    ids = None if lazy is None else _survey(lazy, source, ascending=not sorted_by_user)
    if lazy is None or ids is None:
        run = read_run(source, columns=_run_columns(columns))
        truth = held.truth(run["user"], run["item"])
        facts = run_facts(run, truth, ties=built, name=name)
        yield (facts if ties == built else with_ties(facts, ties)), truth
        return
    truth = held.truth(ids["user"], ids["item"])
    check_common_ids(ids["user"], ids["item"], truth, name)
    seen = np.zeros(len(truth.users), bool)
    for batch in _user_batches(lazy):
        codes = truth.users.codes(plain(_heads(batch["user"]), where=name))
        codes = codes[codes >= 0]
        if (codes[1:] <= codes[:-1]).any():
            codes = np.unique(codes)
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
            facts = run_facts(batch, _for_users(truth, codes), ties=built, name=name, whole=False)
            facts = facts.changed(users=truth.users, unit_user=codes.astype(np.int32))
            yield (facts if ties == built else with_ties(facts, ties)), truth
    if not seen.all():  # users of the population who got nothing
        rest = np.flatnonzero(~seen)
        nothing = pl.DataFrame(
            {"user": ids["user"].head(0), "item": ids["item"].head(0), "rank": pl.Series([], dtype=pl.Int64)}
        )
        facts = run_facts(nothing, _for_users(truth, rest), ties=built, name=name, whole=False)
        yield facts.changed(users=truth.users, unit_user=rest.astype(np.int32)), truth


def _large(source: Any, columns: Any) -> pl.LazyFrame | None:
    """A parquet file of very many rows, unread; None for all else."""
    if not isinstance(source, (str, Path)) or Path(source).suffix != ".parquet" or not Path(source).is_file():
        return None
    lazy = scan_run(source, columns=_run_columns(columns))
    with reading(str(source), what="recommendations"):
        return lazy if lazy.select(pl.len()).collect().item() > MANY_ROWS else None


def _survey(lazy: pl.LazyFrame, source: Any, *, ascending: bool) -> dict[str, pl.Series] | None:
    """The users and items of a run, read in pieces; None where users should be ascending and are not."""
    found: dict[str, list[pl.Series]] = {"user": [], "item": []}
    with reading(str(source), what="recommendations"):
        for batch in lazy.select("user", "item").collect_batches(chunk_size=STREAMED_ROWS, maintain_order=True):
            heads = _heads(batch["user"])
            if ascending and not (heads.is_sorted() and (not found["user"] or found["user"][-1][-1] <= heads[0])):
                return None
            found["user"].append(heads)
            found["item"].append(Ids.of(plain(batch["item"], where=str(source))).values)
    return {role: Ids.of(*(plain(p, where=str(source)) for p in parts)).values for role, parts in found.items()}


def _items_of(source: Any, columns: Any) -> pl.Series:
    """The items a run recommends."""
    if isinstance(source, (str, Path)):
        lazy = scan_run(source, columns=_run_columns(columns)).select(pl.col("item").unique())
        with reading(str(source), what="recommendations"):
            return plain(lazy.collect(engine="streaming")["item"], where=str(source))
    return read_run(source, columns=_run_columns(columns))["item"].unique()


def _for_users(truth: Truth, codes: np.ndarray) -> Truth:
    """The truth of some users only."""
    train = None if truth.train is None else truth.train.pick(codes)
    users = Ids(truth.users.decode(codes))
    return replace(truth, users=users, judged=truth.judged.pick(codes), train=train, streams=codes)


def _user_batches(lazy: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Chunks of a file sorted by user, cut between users."""
    carried: pl.DataFrame | None = None
    for chunk in lazy.collect_batches(chunk_size=STREAMED_ROWS, maintain_order=True):
        frame = chunk if carried is None else pl.concat([carried, chunk])
        user = frame["user"]
        whole = len(frame) - int((user == user[-1]).sum())  # the last user may go on in the next chunk
        carried = frame.slice(whole)
        if whole:
            yield frame.slice(0, whole)
    if carried is not None:
        yield carried


def _heads(user: pl.Series) -> pl.Series:
    """One of each user, where the rows of a user stand together.

    >>> _heads(pl.Series([4, 4, 7, 7, 7])).to_list()
    [4, 7]
    """
    if not user.dtype.is_integer() or user.null_count() or not len(user):
        return user.filter((user != user.shift()).fill_null(True))
    begun = [_changes(chunk.to_numpy()) for chunk in user.get_chunks()]  # each as it is; all together would be copied
    return pl.Series(_changes(np.concatenate(begun)))


def _changes(values: np.ndarray) -> np.ndarray:
    """Values that differ from the one before."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return values[first]


def _run_columns(columns: Any) -> Any:
    return {role: name for role, name in (columns or {}).items() if role in ("user", "item", "score", "rank")} or None
