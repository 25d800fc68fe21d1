"""An experiment: what is read, how it is split, ranked, measured and compared, checked before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueval.comparison.comparison import ComparisonOptions
from trueval.data.users import read_user_ids
from trueval.errors import DefinitionError, TruevalError, suggest
from trueval.evaluation.compat import supported
from trueval.evaluation.declared_options import passed_on
from trueval.evaluation.defaults import METRICS
from trueval.evaluation.evaluate_repeats import each_interval
from trueval.evaluation.options import EvaluationOptions, specs_of
from trueval.experiments.designs import DesignPlan, read_plans
from trueval.experiments.experiment_file import Written, read_written
from trueval.experiments.keys import check_sections
from trueval.experiments.sources import Source, read_source
from trueval.experiments.splitting import Splitting, read_splitting, split_options
from trueval.experiments.system_entries import Entry, read_entries
from trueval.facts.tie_rules import TIES
from trueval.propensity.sources import beside


@dataclass(frozen=True)
class Experiment:
    """One experiment, all of it known to make sense as far as that can be known without the data."""

    written: Written
    source: Source
    splitting: Splitting
    systems: dict[str, Entry]
    plans: dict[str, DesignPlan]  # by design
    options: EvaluationOptions  # of the first seed, with all metrics
    interval: str  # of the whole; that of each repeat is in the options
    baseline: str | None = None
    comparing: ComparisonOptions = field(default_factory=ComparisonOptions)

    @property
    def record(self) -> dict[str, Any]:
        """As plain data: what the file says, for manifests and to compare experiments."""
        return {name: _plain(inner) for name, inner in self.written.sections.items()}


def read_experiment(source: str | Path | Mapping[str, Any], *, seed: int | None = None) -> Experiment:
    """Read an experiment from a TOML file or a mapping of the same form, and refuse what cannot work.

    A `seed` takes the place of the seeds that are written. Modules that systems name with `import` are loaded, which
    runs their code.

    >>> chosen = {"data": {"path": "."}, "evaluation": {"metrics": "ndcg@10"}, "systems": {"popularity": {}}}
    >>> experiment = read_experiment(chosen)
    >>> list(experiment.plans), experiment.splitting.how, experiment.interval
    (['AR-TI-AN'], 'holdout', 'bootstrap')
    """
    written = read_written(source)
    if seed is not None:
        written = written.with_seed(seed)
    check_sections(written, split_options=split_options(written))
    splitting = read_splitting(written)
    chosen = written.section("evaluation")
    options, interval = _options(written, chosen, splitting)
    comparing = _comparing(written, chosen, splitting, level=options.level)
    systems = read_entries(written)
    for entry in systems.values():
        _check_run(written, entry, splitting)
    plans = read_plans(written, systems, options, uniform=splitting.record.uniform)
    baseline = _baseline(written, chosen, plans)
    return Experiment(
        written, read_source(written), splitting, systems, plans, options, interval, baseline, comparing
    )  # fmt: skip


def _options(written: Written, chosen: Mapping[str, Any], splitting: Splitting) -> tuple[EvaluationOptions, str]:
    """How everything is measured, and how intervals over all repeats are made."""
    data = written.section("data")
    method = chosen.get("interval") or ("nested" if splitting.repeated else "bootstrap")
    given = {name: chosen[name] for name in passed_on() if name in chosen}
    if "propensity" in given:
        try:
            given["propensity"] = beside(given["propensity"], written.base)
        except TruevalError as problem:
            raise written.refused(problem, "evaluation", "propensity") from None
    only = given.get("only_users")
    if isinstance(only, str):
        given["only_users"] = str(written.base / Path(only).expanduser())
    if only is not None:
        try:
            read_user_ids(given["only_users"])
        except TruevalError as problem:
            raise written.refused(problem, "evaluation", "only_users") from None
    by = chosen.get("by")
    if by is not None and splitting.repeated:
        raise DefinitionError(
            "groups cannot be combined with several folds or seeds",
            where=written.at("evaluation", "by"),
            do="remove by, or use one seed and one part",
        )
    ties = chosen.get("ties", "random")
    if ties not in TIES:
        where = written.at("evaluation", "ties")
        raise DefinitionError(f"unknown rule for ties: {ties!r}", where=where, do=suggest(ties, TIES))
    checks: dict[str, dict[str, Any]] = {"interval": {}} | {name: {name: value} for name, value in given.items()}
    if "missing" in checks:
        checks["missing"]["compat"] = given.get("compat")
    for key, one in checks.items():  # one by one, so that the message can name the key
        try:
            each = each_interval(method) if splitting.repeated else method
            EvaluationOptions(metrics="ndcg@10", interval=each, **one)
        except TruevalError as problem:
            raise written.refused(problem, "evaluation", key) from None
    try:
        options = EvaluationOptions(
            metrics=chosen.get("metrics") or supported(METRICS, given.get("compat")), threshold=data.get("threshold"),
            interval=each, seed=splitting.seeds[0], by=by, **given,
        )  # fmt: skip
        specs_of(options)
    except TruevalError as problem:
        raise written.refused(problem, "evaluation", "metrics") from None
    return options, method


def _comparing(written: Written, chosen: Mapping[str, Any], splitting: Splitting, *, level: float) -> ComparisonOptions:
    options: dict[str, Any] = {}
    for key in ("test", "correct"):
        if key in chosen:
            try:
                options |= {key: chosen[key]}
                ComparisonOptions(**options)
            except TruevalError as problem:
                raise written.refused(problem, "evaluation", key) from None
    if splitting.repeated and options.get("test", "t") != "t":
        raise DefinitionError(
            f"{options['test']} compares the users of one seed",
            where=written.at("evaluation", "test"),
            found="several seeds or folds",
            do='use test = "t", which counts users and seeds, or one seed',
        )
    return ComparisonOptions(**options, level=level if 0.5 <= level < 1 else 0.95, seed=splitting.seeds[0])


def _baseline(written: Written, chosen: Mapping[str, Any], plans: Mapping[str, DesignPlan]) -> str | None:
    """The system that others are compared with; every design must have it, and another one."""
    name = chosen.get("baseline")
    if name is None:
        return None
    where = written.at("evaluation", "baseline")
    known = written.section("systems")
    if name not in known:
        raise DefinitionError(f"the baseline {name!r} is not among the systems", where=where, do=suggest(name, known))
    for design, plan in plans.items():
        if name not in plan.systems:
            raise DefinitionError(
                f"the baseline {name!r} is not ranked under {design}",
                where=where,
                found="a run: its lists do not cover sampled targets",
                do="choose a baseline that is fitted, or designs with all non-relevant items (AN)",
            )
    return name


def _check_run(written: Written, entry: Entry, splitting: Splitting) -> None:
    """Refuse a missing run before anything is fitted; runs of folds are checked once the log is split."""
    if entry.kind != "run" or "{fold}" in entry.target:
        return
    for seed in splitting.seeds:
        try:
            entry.run_path(seed, 1)
        except TruevalError as problem:
            raise written.refused(problem, "systems", entry.name) from None


def _plain(value: Any) -> Any:
    """A value as JSON has it; tables given from Python are represented by their type."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value) if isinstance(value, Path) or hasattr(value, "isoformat") else type(value).__name__
