"""What figures are made from: the data, the seed, and steps of the work that are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from trueval.data.interactions import Interactions
from trueval.experiments.cache import Cache
from trueval.experiments.execution import do_experiment
from trueval.experiments.experiment import read_experiment
from trueval.experiments.result import ExperimentResult
from trueval.experiments.run import assemble, with_facts
from trueval.papers.steps import KeptSteps
from trueval.progress import note


@dataclass(frozen=True)
class Setting:
    """One rerun: logs by the name of their slot, where each comes from, and how thorough it is.

    `generated` says of each slot whether a world stands in for the paper's data. `quick` means fewer repetitions and
    fewer points on curves, by the same code.
    """

    paper: str
    logs: Mapping[str, Interactions]
    generated: Mapping[str, bool]
    quick: bool
    seed: int
    steps: KeptSteps
    work: Path
    finished: dict[str, ExperimentResult] = field(default_factory=dict, repr=False)

    @property
    def log(self) -> Interactions:
        """The log of the first slot."""
        return next(iter(self.logs.values()))

    @property
    def is_generated(self) -> bool:
        """Whether the first log is a world."""
        return next(iter(self.generated.values()))

    def step(self, name: str, make: Callable[..., pl.DataFrame], **parameters: Any) -> pl.DataFrame:
        """The table that `make(self, **parameters)` returns: computed once for these data, parameters and seed.

        Figures that ask for the same step share it, and a run that was stopped finds it again.
        """
        found = self.steps.get(name, parameters)
        if found is None:
            note(f"{self.paper}: {name}")
            found = make(self, **parameters)
            self.steps.put(name, parameters, found)
        return found

    def experiment(self, definition: Mapping[str, Any]) -> ExperimentResult:
        """What `tv.run` finds, without its report; facts stay until the rerun is finished, and are not computed twice.

        `[data] path` is the log of the first slot where the definition names none. The result on that log stays in
        memory, for the next figure that asks for it.
        """
        key = json.dumps(definition, sort_keys=True, default=str)
        own = "path" not in definition.get("data", {})
        if own and key in self.finished:
            return self.finished[key]
        chosen = read_experiment({**definition, "data": {"path": self.log, **definition.get("data", {})}})
        log, splitting = chosen.splitting.with_log(chosen.source)
        chosen, cache = replace(chosen, splitting=splitting), Cache(self.work)
        found = assemble(chosen, log, with_facts(do_experiment(chosen, log, cache), cache))
        if own:
            self.finished[key] = found
        return found
