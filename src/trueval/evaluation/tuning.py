"""Choice of parameters on a validation part. The test part is never read."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from trueval.arguments import checked
from trueval.data.exported_tables import as_pandas, frame_html
from trueval.design.design import Design
from trueval.errors import DataError, DefinitionError
from trueval.evaluation.evaluate_systems import evaluate_systems
from trueval.evaluation.options import EvaluationOptions
from trueval.evaluation.tuning_trials import Trials
from trueval.evaluation.validation_part import carve
from trueval.kernels import use_threads
from trueval.metrics.grammar import parse
from trueval.progress import hushed, note, progress
from trueval.recommenders.code_fingerprint import Unknown, code_digest
from trueval.recommenders.protocol import Recommender
from trueval.recommenders.registry import make_system, record_of, text_of
from trueval.splits.parts import Parts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Tuning:
    """The trials of a search, best first, and the best parameters. `make()` gives the best system, not yet fitted."""

    best: dict[str, Any]
    table: pl.DataFrame  # one row per trial: parameters, value of the metric, seconds
    metric: str
    system: str
    manifest: dict[str, Any] = field(repr=False)
    _make: Callable[..., Recommender] = field(repr=False)

    def make(self) -> Recommender:
        """A new system with the best parameters."""
        return self._make(**self.best)

    def to_polars(self) -> pl.DataFrame:
        """The trials, best first: `table`."""
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """The trials as a pandas DataFrame; needs pandas and pyarrow."""
        return as_pandas(self.table)

    def _repr_html_(self) -> str:
        return frame_html(f"{self.system} by {self.metric} on the validation part", self.table)

    def __str__(self) -> str:
        with pl.Config(tbl_rows=20, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
            return f"{self.system} by {self.metric} on the validation part\n{self.table}"


@checked
def tune(
    system: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
    *,
    data: Any,
    metric: str = "ndcg@10",
    on: str = "validation",
    ratio: float | None = None,
    design: Any = "AR-TI-AN",
    threshold: float | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> Tuning:
    """Try parameters of a system on a validation part, and find the best. The test part is never read.

    Parameters
    ----------
    system : text, class or function
        A name, also with parameters that stay (`"plsa[topics=20]"`), or a class or function that makes a system from
        parameters.
    grid : mapping or list of mappings
        The values of each parameter, all combinations of which are tried, or the trials themselves.
    data : Parts or log
        The result of a split or a log. Its validation part is used where it has one; otherwise a share of the train
        part is held out in the way the test part was: the last rows where that was by time, as many ratings of every
        candidate item where it was a uniform test, by chance elsewhere. U designs (U1R) need a uniform validation part:
        one is drawn in the way of `uniform_test`, whatever the split; one that is given must be uniform.
    metric : text, default "ndcg@10"
        The metric that decides; higher or lower values of it must be better.
    on : {"validation"}, default "validation"
        The part to choose on; "test" is refused.
    ratio : number, optional
        Share of the train part to hold out where there is no validation part. Default: 0.2, or the largest share that a
        uniform validation part can have.
    design : text or Design, default "AR-TI-AN"
        Which items are ranked against each other for a user (see `Design`).
    threshold : number, optional
        Relevance threshold: items with this value or a higher one are relevant. Default: all values above 0.
    folder : path, optional
        Keep finished trials here, by parameters, data, options and code: an interrupted search is continued,
        and a larger grid costs only what is new. Trials of other versions of trueval are removed at the end.
    seed : int, default 0
        Seed of the validation part, of ties and of systems.
    threads : int, optional
        Number of threads. Default: one for each available core.

    Returns
    -------
    Tuning
        `best` (parameters), `table` (a row per trial, best first), `manifest` (with the `split` used),
        and `make()`, which gives the best system, not yet fitted.

    Raises
    ------
    TruevalError
        For parameters that the system does not have, and where the metric is undefined in every trial.

    Examples
    --------
    >>> import trueval as tv
    >>> pairs = [(u, (u * j) % 7) for u in range(1, 30) for j in range(1, 5)]
    >>> parts = tv.split(pl.DataFrame(pairs, schema=["user", "item"], orient="row").unique(), "holdout")
    >>> found = tune("itemknn", {"k": [1, 3], "shrink": [0.0, 1.0]}, data=parts)
    >>> sorted(found.best), len(found.table)
    (['k', 'shrink'], 4)
    """
    _check_on(on)
    spec = parse(metric)
    if spec.better not in ("higher", "lower"):
        raise DefinitionError(f"neither high nor low values of {metric} are better", do="choose an accuracy metric")
    name, make = _maker(system)
    trials = _trials(grid)
    texts = [text_of(make(**parameters)) for parameters in trials]  # find mistakes in the grid before hours of work
    design = Design.parse(design)
    parts = carve(data, ratio=ratio, seed=seed, uniform=design.uniform)
    options = EvaluationOptions(metrics=[spec], threshold=threshold, interval="none", seed=seed)
    manifest = {
        "metric": str(spec),
        "design": str(design),
        "threshold": threshold,
        "seed": seed,
        **_data_manifest(parts),
    }
    kept = _kept(folder, manifest, system, name)

    def work(parameters: dict[str, Any]) -> float:
        found = evaluate_systems(parts, {name: make(**parameters)}, options, design=design)
        (estimate,) = found.system(name).estimates.values()
        return float(estimate.value)

    with use_threads(threads):
        results = _run(name, trials, [kept.key(*pair) for pair in zip(texts, trials)], kept, work)
    return _concluded(name, make, str(spec), trials, results, higher=spec.better == "higher", manifest=manifest)


def _check_on(on: str) -> None:
    if on == "test":
        raise DefinitionError(
            "parameters must not be chosen on the test part",
            found='on="test"',
            do="omit on: a validation part is taken from train, and evaluate(…) gives the test values",
        )
    if on != "validation":
        raise DefinitionError(f"parameters cannot be chosen on {on!r}", do='use on="validation"')


def _data_manifest(parts: Parts) -> dict[str, Any]:
    """What decides a trial about the data: rows, how they were split, and tables of items that metrics may read."""
    items = parts.train.items
    return {
        "split": dict(parts.how),
        "train": parts.train.fingerprint(),
        "validation": parts.test.fingerprint(),
        "items": None if items is None else hashlib.sha256(items.sort("item").write_json().encode()).hexdigest()[:16],
    }


def _kept(folder: str | Path | None, manifest: dict[str, Any], system: Any, name: str) -> Trials:
    """The trials of this code; where its code cannot be identified, none are used again, and none kept."""
    if folder is None or isinstance(system, str):
        return Trials.open(folder, manifest)
    try:
        return Trials.open(folder, {**manifest, "code": code_digest(system)})
    except Unknown as problem:
        note(f"trials of {name} are neither used again nor kept, because its code cannot be identified: {problem}")
        return Trials.open(None, manifest)


def _maker(system: Any) -> tuple[str, Callable[..., Recommender]]:
    """A name, and what makes the system from parameters."""
    if isinstance(system, str):
        plain = make_system(system)
        record = record_of(plain)
        if record is not None and record.oracle:
            raise DefinitionError(f"{system} reads the test part: there is nothing to choose", do="evaluate it")
        return text_of(plain), lambda **parameters: make_system(system, **parameters)
    if not callable(system) or (hasattr(system, "score") and not isinstance(system, type)):
        raise DefinitionError(
            "a system to tune is a name, a class or a function of its parameters",
            found=type(system).__name__,
            do='for example tune("plsa", …) or tune(MyModel, …)',
        )
    name = getattr(system, "__qualname__", type(system).__name__)

    def make(**parameters: Any) -> Recommender:
        try:
            return make_system(system(**parameters))
        except TypeError as problem:
            raise DefinitionError(
                f"{name} cannot be created with the parameters of the grid", found=str(problem)
            ) from problem

    return name, make


def _trials(grid: Any) -> list[dict[str, Any]]:
    """The parameters of every trial."""
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not hasattr(values, "__iter__"):
                raise DefinitionError(
                    f"the grid needs a list of values for {name}", found=repr(values), do="[value, …]"
                )
        trials = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    elif isinstance(grid, (list, tuple)) and all(isinstance(trial, Mapping) for trial in grid):
        trials = [dict(trial) for trial in grid]
    else:
        raise DefinitionError(
            "the grid must give values for each parameter", found=repr(grid)[:60], do='{"k": [20, 50]}'
        )
    if not trials:
        raise DefinitionError("the grid is empty", found=repr(grid), do='for example {"k": [20, 50, 100]}')
    for place, trial in enumerate(trials):
        if trial in trials[:place]:
            raise DefinitionError("the grid has the same trial twice", found=repr(trial), do="give each trial once")
    return trials


def _run(
    name: str, trials: list[dict[str, Any]], keys: list[str], kept: Trials, work: Callable[[dict[str, Any]], float]
) -> list[dict[str, Any]]:
    results = {key: found for key in keys if (found := kept.read(key)) is not None}
    left = [(key, place) for place, key in enumerate(keys) if key not in results]
    with progress(f"tuning {name}", len(left)) as step:
        for key, place in left:
            begun = time.perf_counter()
            with hushed():  # one bar, for the search
                value = work(trials[place])
            results[key] = {"value": value, "seconds": time.perf_counter() - begun}
            kept.write(key, {"system": name, "parameters": trials[place], **results[key]})
            step()
    removed = kept.prune()  # only after the search: one that stopped goes on with what is there
    if removed:
        note(f"removed trials of other versions of trueval: {removed:,}")
    return [results[key] for key in keys]


def _concluded(
    name: str, make: Callable[..., Recommender], metric: str, trials: list[dict[str, Any]],
    results: list[dict[str, Any]], *, higher: bool, manifest: dict[str, Any],
) -> Tuning:  # fmt: skip
    values = np.array([result["value"] for result in results], float)
    if np.isnan(values).all():
        raise DataError(f"{metric} is undefined in every trial", where="validation part", do="hold out a larger share")
    order = np.argsort(np.where(np.isnan(values), np.inf, -values if higher else values), kind="stable")
    names = list(dict.fromkeys(itertools.chain.from_iterable(trials)))
    columns = {key: [_table_cell(trials[place].get(key)) for place in order] for key in names}
    table = pl.DataFrame(
        {**columns, metric: values[order], "seconds": [round(results[place]["seconds"], 2) for place in order]},
        strict=False,
    )
    return Tuning(trials[order[0]], table, metric, name, manifest, make)


def _table_cell(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
