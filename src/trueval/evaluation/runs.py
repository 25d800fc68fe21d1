"""Evaluate recommendations already made: tables or files of (user, item, score or rank)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueval.data.tables import stem
from trueval.design.head import check_head_share, head_word
from trueval.design.targets import SEEN
from trueval.errors import DefinitionError, suggest
from trueval.evaluation.engines.plan import MeasuredRun, Reading
from trueval.evaluation.kept_facts import OF_A_RUN, KeptFacts
from trueval.evaluation.outcome import Evaluation
from trueval.evaluation.rules import Rules
from trueval.evaluation.truth import TruthSource
from trueval.evaluation.without_head import NAME

ENGINES = ("local", "spark")


def evaluate_runs(
    recs: Any,
    test: Any,
    rules: Rules,
    *,
    train: Any = None,
    items: Any = None,
    condensed: bool = False,
    without_head: float | None = None,
    seen: str = "exclude",
    columns: Mapping[str, Any] | None = None,
    sorted_by_user: bool = False,
    engine: str = "local",
) -> Evaluation:
    """Measure one run or several (a mapping from names, a list of files) against one test set."""
    work = find_engine(engine)
    rules = rules.for_lists()
    specs = rules.specs()
    runs = name_runs(recs)
    share = None if without_head is None else check_head_share(without_head, where=NAME)
    if seen not in SEEN:
        raise DefinitionError(
            f"seen items can be {' or '.join(SEEN)}", found=repr(seen), do='seen="allow" (--seen allow)'
        )
    how = Reading(rules, condensed, columns, sorted_by_user)
    test, train, items = (work.here(source) for source in (test, train, items))
    held = TruthSource(test, rules, train=train, items=items, columns=columns, without_head=share, seen=seen)
    if len(runs) > 1 and items is None:  # one catalogue for all, or coverage would not be comparable
        held.others = [work.items_of(source, how) for source in runs.values()]
    found: dict[str, MeasuredRun] = {}
    for name, source in runs.items():
        found[name] = work.measure_run(source, name, held, how, first=not found)
    notes = [*held.notes(), *(note for run in found.values() for note in run.notes)]
    if items is None and any(spec.metric.system for spec in specs.values()):
        notes.append("no catalogue was given: items are those of the runs, the test and the train set (--items)")
    if held.left_out is not None:
        places = {name: run.head_places for name, run in found.items() if run.head_places is not None}
        notes += held.left_out.notes(places, condensed=condensed)
    last = list(found.values())[-1]
    concluded = rules.conclude(
        {name: run.measurements for name, run in found.items()},
        specs,
        users={name: run.users for name, run in found.items()},
        inputs=last.inputs,
        test=held.test,
        notes=notes,
        condensed=condensed,
        design=_design_of(share, condensed=condensed, seen=seen),
        without_head=None if held.left_out is None else held.left_out.record(condensed=condensed),
        data={name: log.fingerprint() for name, log in (("train", held.train), ("test", held.test)) if log is not None},
        catalogue=last.catalogue,
    )
    return replace(concluded, facts=KeptFacts(otherwise=OF_A_RUN))


def find_engine(name: str) -> Any:
    """The module that measures runs: `here`, `items_of` and `measure_run`."""
    if name not in ENGINES:
        raise DefinitionError(f"there is no engine {name!r}", found=suggest(name, ENGINES))
    return importlib.import_module(f"trueval.evaluation.engines.{name}")


def _design_of(without_head: float | None, *, condensed: bool, seen: str) -> str:
    """The design of lists that were given, in the words that other designs have for the same."""
    words = ["given"] + ([] if without_head is None else [head_word(without_head)])
    return "-".join(words + ["condensed"] * condensed + ["seen"] * (seen == "allow"))


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
