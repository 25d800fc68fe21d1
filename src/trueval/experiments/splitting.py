"""How an experiment splits its log: once per seed, and what is repeated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from trueval.data.interactions import Interactions
from trueval.data.read import read, read_pair
from trueval.data.table_columns import columns_of
from trueval.errors import DefinitionError, TruevalError
from trueval.experiments.experiment_file import Written, show
from trueval.experiments.sources import Source, find_path
from trueval.progress import hushed
from trueval.splits import options_of as options_of_split
from trueval.splits import split
from trueval.splits.parts import Parts
from trueval.splits.registry import Split, find_split


@dataclass(frozen=True)
class SplitReplicate:
    """One split of the log. `name` is empty where there is only one."""

    name: str
    parts: Parts
    seed: int
    fold: int = 1


@dataclass(frozen=True)
class Splitting:
    """A way to split, and the seeds it is done with."""

    how: str = "holdout"
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = (0,)

    @property
    def record(self) -> Split:
        """What is known of the split by its name."""
        return find_split(self.how)

    @property
    def repeated(self) -> bool:
        """Whether there are several parts or seeds."""
        return len(self.seeds) > 1 or bool(self.record.several)

    @property
    def splits_differ(self) -> bool:
        """Whether repeats have other rows, not only other seeds of the systems."""
        return self.repeated and (bool(self.record.several) or self.record.seeded)

    def repeats(self, log: Interactions, *, columns: Any = None) -> Iterator[list[SplitReplicate]]:
        """The repeats of each seed, one seed after the other, so that one split is in memory at a time.

        Folds of another seed are other folds. A split without chance is the same for every seed, which is then
        that of the systems alone.
        """
        seeded = self.record.seeded
        made: list[Parts] = []
        options: dict[str, Any] = {
            name: read(value, columns=columns_of(columns, name) or None)
            if name in self.record.tables and not _is_read(value)
            else value
            for name, value in self.options.items()
        }
        for seed in self.seeds:
            if seeded or not made:
                with hushed():  # what was dropped is a warning of the result
                    found = split(log, self.how, seed=seed, **options)
                made = [found] if isinstance(found, Parts) else found
            yield [
                SplitReplicate(self._name(seed, fold, len(made), seeded=seeded), parts, seed, fold)
                for fold, parts in enumerate(made, 1)
            ]

    def with_log(self, source: Source) -> tuple[Interactions, Splitting]:
        """The log, and the splitting with the unbiased ratings that may come from the same place."""
        pair = self.record.pair
        if not pair:
            return source.read_log(), self
        log, other = read_pair(source.log, self.options.get(pair), columns=source.columns)
        return read(log, count=source.count), replace(self, options={**self.options, pair: other})

    def _name(self, seed: int, fold: int, folds: int, *, seeded: bool) -> str:
        if folds == 1 and not self.record.several:
            return f"seed {seed}" if len(self.seeds) > 1 else ""
        part = f"{self.record.several} {fold}"
        if len(self.seeds) == 1:
            return part
        return f"{part} of seed {seed}" if seeded else f"{part}, seed {seed}"


def _is_read(table: Any) -> bool:
    return table is None or isinstance(table, Interactions)


def split_options(written: Written) -> list[str]:
    """Names of the options of the split that is asked for."""
    how = written.section("split").get("how", "holdout")
    try:
        return [name for name in options_of_split(how) if name != "seed"]
    except TruevalError as problem:
        raise written.refused(problem, "split", "how") from None


def read_splitting(written: Written) -> Splitting:
    """The section [split], with its options tried out on a small log."""
    chosen = written.section("split")
    how = chosen.pop("how", "holdout")
    if "seed" in chosen and "seeds" in chosen:
        raise DefinitionError(
            "seed and seeds are both given", where=written.at("split", "seeds"), do="keep one of them"
        )
    seed, seeds = chosen.pop("seed", 0), chosen.pop("seeds", None)
    seeds = tuple(seeds) if seeds is not None else (seed,)
    if len(set(seeds)) < len(seeds):
        raise DefinitionError(
            "a seed is given twice", where=written.at("split", "seeds"), found=show(seeds), do="keep each once"
        )
    rehearse(written, how, chosen)
    tables = {name: find_path(written, "split", name) for name in find_split(how).tables if name in chosen}
    return Splitting(how, {**chosen, **tables}, seeds)


def rehearse(written: Written, how: str, options: Mapping[str, Any]) -> None:
    """Split a small log, so that a wrong option is refused by the split itself before data are read.

    Errors about this log are ignored, since it is not the log of the experiment.
    """
    log, record = _small_log(), find_split(how)
    tried: dict[str, Any] = {name: log if name in record.tables else v for name, v in options.items()}
    if record.pair:
        tried[record.pair] = log  # the data set may hold it
    moments = {name for name, option in record.options.items() if option.of_log}
    if not {"ratio", "windows"} & set(tried):  # whether a moment lies inside the log is for the log to say
        tried = {name: value for name, value in tried.items() if name not in moments}
    try:
        split(log, how, **tried)
    except DefinitionError as problem:
        named = [name for name in options if f"{name} = " in problem.found or f"no {name}" == problem.found]
        if named or problem.found.startswith("no "):
            raise written.refused(problem, "split", named[0] if named else "") from None
    except TruevalError:
        return


def _small_log() -> Interactions:
    user, item = (axis.ravel() for axis in np.meshgrid(np.arange(40), np.arange(25), indexing="ij"))
    time = np.arange(len(user)) + 10**9
    return Interactions.of(pl.DataFrame({"user": user, "item": item, "value": 1.0 + (user + item) % 5, "time": time}))
