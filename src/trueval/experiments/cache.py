"""Stored facts: what a system did on one split under one design is computed once.

Facts are found again by a key of all that decides them: the rows of the split, seed, threshold, design, ties, the
candidates, the system with its parameters, and the version of trueval. Metrics are no part of it.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from trueval import __version__
from trueval.errors import DataError
from trueval.evaluation.evaluate_systems import PreparedSplit
from trueval.evaluation.kept_facts import Missing
from trueval.facts.files import load_facts, save_facts
from trueval.facts.invalid_places import REFUSE
from trueval.facts.ranking_facts import RankingFacts

_KEY = re.compile("[0-9a-f]{24}")
# Lists are kept at least so long, so that a metric with another cutoff seldom needs a new ranking.
DEPTH = 100


@dataclass(frozen=True)
class Cache:
    """A folder of facts, by key; without a folder nothing is kept. `notes` collects messages for the user."""

    folder: Path | None = None
    notes: list[str] = field(default_factory=list)

    def get(self, key: str, *, depth: int) -> RankingFacts | None:
        """Facts with lists at least so long as asked for; None where there are none that can be used."""
        if self.folder is None or not (self.folder / key).exists():
            return None
        try:
            facts = load_facts(self.folder / key)
        except DataError as problem:
            self.notes.append(f"stored facts are damaged and are computed again: {problem.found} ({problem.where})")
            remove(self.folder / key)
            return None
        return facts if facts.label.get("depth", 0) >= depth else None

    def put(self, key: str, facts: RankingFacts) -> None:
        """Keep facts, written whole or not at all."""
        if self.folder is not None:
            save_facts(facts, self.folder / key)

    def reader(self, key: str) -> Callable[[], RankingFacts] | Missing:
        """A function that reads facts when they are needed; without a folder, why there are none."""
        if self.folder is None:
            return Missing("the experiment has no folder", "give it one: tv.run(…, out=folder)")
        return partial(load_facts, self.folder / key)

    def prune(self, used: Collection[str]) -> Pruned:
        """Remove facts other than those in use; for after an experiment has finished, when nothing can need them.

        What does not look like facts of ours is left alone.
        """
        number, size = 0, 0
        for place in sorted(self.folder.iterdir()) if self.folder is not None and self.folder.is_dir() else ():
            if place.name in used or not _KEY.fullmatch(place.name) or not place.is_dir():
                continue
            own = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
            hidden = place.with_name(f".{place.name}")  # an interruption leaves no half of it under its name
            try:
                place.rename(hidden)
            except OSError:
                continue
            remove(hidden)
            number, size = number + 1, size + own
        return Pruned(number, size)


class Pruned(NamedTuple):
    """How many facts were removed, and how many bytes they took."""

    number: int
    size: int

    def __str__(self) -> str:
        return (
            f"removed stored facts that no system or design uses any more: {self.number:,} ({self.size / 1e6:,.1f} MB)"
        )


def remove(path: Path) -> None:
    """Remove a file or folder, where that can be done."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def split_key(split: PreparedSplit, catalogue: pl.DataFrame | None) -> dict[str, Any]:
    """All that decides facts on a split, whatever the system."""
    parts, options = split.parts, split.options
    logs = {"train": parts.train, "test": parts.test, "validation": parts.validation, "observed": parts.observed}
    return {
        "version": __version__,
        "data": {name: None if log is None else log.fingerprint() for name, log in logs.items()},
        "catalogue": None if catalogue is None else _ids_digest(catalogue),
        "seed": options.seed,
        "threshold": options.threshold,
        "design": str(split.design),
        "ties": options.ties,
        **({} if options.invalid == REFUSE else {"invalid": options.invalid}),
        "everyone": options.averaged_over == "all",
    }


def facts_key(split: Mapping[str, Any], system: Mapping[str, Any]) -> str:
    """The key of a system's facts.

    >>> facts_key({"seed": 1}, {"system": "plsa"}) == facts_key({"seed": 2}, {"system": "plsa"})
    False
    """
    text = json.dumps({**split, **system}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _ids_digest(catalogue: pl.DataFrame) -> str:
    """A digest of the candidates, whatever their order."""
    ids = catalogue.select([name for name in ("user", "item") if name in catalogue.columns])
    hashes = ids.hash_rows(seed=0).to_numpy()
    mixed = (len(ids), int(hashes.sum(dtype=np.uint64)), int(np.bitwise_xor.reduce(hashes)))
    return hashlib.sha256(str(mixed).encode()).hexdigest()[:16]
