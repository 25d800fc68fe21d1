"""The designs of an experiment: which systems and metrics each of them has, and why others are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from trueval.design.design import Design
from trueval.errors import DefinitionError, TruevalError
from trueval.evaluation.defaults import measurable
from trueval.evaluation.options import EvaluationOptions
from trueval.experiments.experiment_file import Written
from trueval.experiments.system_entries import Entry
from trueval.metrics.grammar import parse_all
from trueval.metrics.spec import Spec

DEFAULT = "AR-TI-AN"


@dataclass(frozen=True)
class DesignPlan:
    """What is done under one design. `notes` say what is left out."""

    design: Design
    metrics: tuple[Spec, ...]
    systems: tuple[str, ...]
    notes: tuple[str, ...] = field(default=())

    def options(self, options: EvaluationOptions, *, seed: int) -> EvaluationOptions:
        """The options of the experiment for this design and seed."""
        return replace(options, metrics=self.metrics, seed=seed)


def read_plans(
    written: Written, systems: Mapping[str, Entry], options: EvaluationOptions, *, uniform: bool
) -> dict[str, DesignPlan]:
    """The designs by name. Metrics and systems without meaning under a design are left out of it, with a note."""
    given = written.section("evaluation").get("designs", DEFAULT)
    plans: dict[str, DesignPlan] = {}
    for text in [given] if isinstance(given, str) else given:
        try:
            design = Design.parse(text)
            if str(design) in plans:
                raise DefinitionError("a design is given twice", found=text, do="keep one of them")
            _check_possible(written, design, uniform=uniform)
            plans[str(design)] = _plan(design, systems, parse_all(options.metrics))
        except TruevalError as problem:
            raise _of_design(problem, written, text) from None
    return plans


def _plan(design: Design, systems: Mapping[str, Entry], metrics: list[Spec]) -> DesignPlan:
    kept, notes = measurable(metrics, design)
    ranked = [name for name, entry in systems.items() if entry.kind != "run" or not design.sample]
    if len(ranked) < len(systems):
        lost = ", ".join(name for name in systems if name not in ranked)
        notes.append(f"not ranked under this design, since the lists of a run do not cover sampled targets: {lost}")
    if not kept:
        raise DefinitionError(
            "no metric is defined under this design",
            found=", ".join(map(str, metrics)),
            do="add an accuracy metric such as ndcg@10, or use AR designs",
        )
    if not ranked:
        raise DefinitionError(
            "no system can be ranked under this design",
            found="only runs, whose lists do not cover sampled targets",
            do="use designs with all non-relevant items (AN), or add systems that are fitted",
        )
    return DesignPlan(design, tuple(kept), tuple(ranked), tuple(notes))


def _check_possible(written: Written, design: Design, *, uniform: bool) -> None:
    """Refuse a design that the split or the data section cannot serve."""
    if design.uniform and not uniform:
        raise DefinitionError("the design needs a uniform_test split", do='write how = "uniform_test" in [split]')
    if design.candidates == "LIST" and "items" not in written.section("data"):
        raise DefinitionError("a LIST design needs the list of candidate items", do="name its file as items in [data]")


def _of_design(problem: TruevalError, written: Written, text: str) -> TruevalError:
    found = "\n".join(dict.fromkeys(filter(None, (text, problem.found))))
    return type(problem)(problem.what, where=written.at("evaluation", "designs"), found=found, do=problem.do)
