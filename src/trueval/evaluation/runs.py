"""Evaluate recommendations already made: tables or files of (user, item, score or rank)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from trueval.data.tables import stem
from trueval.data.whole_runs import being_read, forget, read_ahead
from trueval.design.design import RunDesign, choose_run_design
from trueval.design.words import words_of
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.engines.plan import RunOptions, reading_depth
from trueval.evaluation.held_out import HeldOut, notes_on_repeated_pairs, read_held_out
from trueval.evaluation.kept_facts import OF_A_RUN, KeptFacts
from trueval.evaluation.measure_and_conclude import MeasuredSystem, conclude
from trueval.evaluation.options import EvaluationOptions, for_given_lists, specs_of
from trueval.evaluation.outcome import Evaluation
from trueval.facts.invalid_places import REFUSE
from trueval.metrics.spec import Spec

ENGINES = ("local", "spark")
Done = TypeVar("Done")


def evaluate_runs(
    recs: Any,
    test: Any,
    options: EvaluationOptions,
    *,
    train: Any = None,
    items: Any = None,
    design: str | RunDesign | None = None,
    condensed: bool | None = None,
    without_head: float | None = None,
    seen: str | None = None,
    columns: Mapping[str, Any] | None = None,
    sorted_by_user: bool = False,
    engine: str = "local",
) -> Evaluation:
    """Measure one run or several (a mapping from names, a list of files) against one test set."""
    work = find_engine(engine)
    options = for_given_lists(options)
    specs = specs_of(options)
    runs = name_runs(recs)
    chosen = choose_run_design(design, without_head=without_head, condensed=condensed, seen=seen)
    depth = reading_depth(options, condensed=chosen.condensed)
    how = RunOptions(columns=columns, sorted_by_user=sorted_by_user, depth=depth)
    test, train, items = (work.here(source) for source in (test, train, items))
    if engine == "local" and len(runs) == 1 and columns is None and not sorted_by_user:
        read_ahead(*runs.values(), depth=depth)
    try:
        held_out = read_held_out(test, options, train=train, items=items, columns=columns, design=chosen)
    except BaseException:
        forget()
        raise
    if len(runs) > 1 and items is None:  # one catalogue for all, or coverage would not be comparable
        held_out = replace(held_out, other_items=tuple(work.items_of(source, how) for source in runs.values()))
    logs = {"train": held_out.known.train, "test": held_out.known.test}
    begun = being_read()
    with ThreadPoolExecutor(1) as beside:  # while one core works alone, as it does once a run is read
        prints = {name: beside.submit(_after, begun, log.fingerprint) for name, log in logs.items() if log is not None}
        found: dict[str, MeasuredSystem] = {}
        for name, source in runs.items():
            found[name] = work.measure_run(source, name, held_out, how, first=not found)
        fingerprints = {name: future.result() for name, future in prints.items()}
    concluded = _conclude(held_out, specs, found, fingerprints)
    return replace(concluded, facts=KeptFacts(otherwise=OF_A_RUN))


def _after(begun: Sequence[Future[Any]], work: Callable[[], Done]) -> Done:
    """Do some work once others are done, or have failed."""
    wait(begun)
    return work()


def _conclude(
    held_out: HeldOut, specs: Mapping[str, Spec], found: Mapping[str, MeasuredSystem], fingerprints: Mapping[str, str]
) -> Evaluation:
    """The evaluation of all runs that were measured."""
    known, design, last = held_out.known, held_out.design, list(found.values())[-1]
    notes = [*notes_on_repeated_pairs(held_out), *(note for run in found.values() for note in run.notes)]
    if known.items is None and any(spec.metric.system for spec in specs.values()):
        notes.append("no catalogue was given (--items): the items of the runs, the test set and the train set are used")
    if known.items is None and held_out.options.invalid != REFUSE:
        notes.append(
            f"no catalogue was given (--items), so that no item is outside it: invalid={held_out.options.invalid} is "
            "about repeated items alone"
        )
    if last.removed_head is not None:
        places = {name: run.head_places for name, run in found.items() if run.head_places is not None}
        notes += last.removed_head.notes(places, condensed=design.condensed)
    return conclude(
        found,
        specs,
        test=known.test,
        notes=notes,
        condensed=design.condensed,
        design=str(design),
        design_words=dict(words_of(design)),
        without_head=None if last.removed_head is None else last.removed_head.record(condensed=design.condensed),
        data=fingerprints,
    )


def find_engine(name: str) -> Any:
    """The module that measures runs: `here`, `items_of` and `measure_run`."""
    if name not in ENGINES:
        raise DefinitionError(f"there is no engine {name!r}", do=suggest(name, ENGINES))
    return importlib.import_module(f"trueval.evaluation.engines.{name}")


def name_runs(recs: Any) -> dict[str, Any]:
    """Names of runs: a mapping's own, or the names of the files.

    >>> list(name_runs(["a/bpr.v1.parquet", "b/pop.csv.gz"]))
    ['bpr.v1', 'pop']
    """
    named: dict[str, Any] = dict(recs) if isinstance(recs, Mapping) else {}
    sources = [] if isinstance(recs, Mapping) else list(recs) if isinstance(recs, (list, tuple)) else [recs]
    for source in sources:
        name = stem(Path(source)) if isinstance(source, (str, Path)) else "run"
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
