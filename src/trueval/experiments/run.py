"""Run an experiment: the public function."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueval.api import Result
from trueval.arguments import checked
from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.evaluation.kept_facts import KeptFacts
from trueval.evaluation.manifest import make_manifest, merge_entries
from trueval.evaluation.repeats import combine
from trueval.experiments.cache import Cache
from trueval.experiments.execution import Evaluations, Found, do_experiment
from trueval.experiments.experiment import Experiment, read_experiment
from trueval.experiments.folder import COPY, FACTS, held_folder, open_folder, write_results
from trueval.experiments.result import ExperimentResult
from trueval.kernels import use_threads
from trueval.progress import note
from trueval.report.protected import Output, check_outputs, same_file


@checked
def run(
    experiment: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    *,
    resume: bool = False,
    seed: int | None = None,
    threads: int | None = None,
) -> ExperimentResult:
    """Run an experiment: read, split once per seed, rank and measure every system under every design, compare.

    Paths are relative to the file. `[systems]` has an entry for each system: parameters of a system by its name
    (`plsa = { factors = 50 }`, `wide = { system = "plsa", factors = 200 }`), a run (`{ run = "recs.parquet" }`, where
    {seed} and {fold} stand for those of a split), or a class (`{ import = "module:Class", parameter = … }`).

    `import` runs the code of that module, with your rights: read experiments of others before you run them. Modules
    are found where Python finds them, and then beside the file; no other file beside it is run. What such a module
    imports from its folder, also inside fit and score, is found likewise, after all installed modules.

    Parameters
    ----------
    experiment : path or mapping
        A TOML file, or a mapping of the same form, in which data may also be tables.
    out : path, optional
        Folder to write: `results.parquet` (every user's values), `summary.json`, `report.html`, the facts behind them,
        and under `designs` what `compare` reads. Default: nothing is written.
    resume : bool, default False
        Continue an experiment in `out`: finished results are kept, changed or damaged ones computed again. These count
        as changes: data, runs, parameters, and the code of a class (its module and all modules that this one
        loads; installed libraries by their version; not the files that the code reads). At the end, facts that the
        experiment no longer refers to are removed.
    seed : int, optional
        Use this seed in place of those in the experiment.
    threads : int, optional
        Number of threads. Default: one for each available core.

    Returns
    -------
    ExperimentResult
        A `Result` for each design (`found["AR-TI-AN"]`), `comparisons` with the baseline, and the `agreement` of
        designs.

    Raises
    ------
    TruevalError
        For an experiment that cannot be read, and a folder that holds something else or another experiment.

    Examples
    --------
    >>> import polars as pl, trueval as tv
    >>> log = pl.DataFrame([(u, (u + j * j) % 11) for u in range(9) for j in range(4)], ["user", "item"], orient="row")
    >>> chosen = {"data": {"path": log}, "evaluation": {"metrics": "auc"}, "systems": {"popularity": {}}}
    >>> tv.run(chosen)["AR-TI-AN"]["popularity", "auc"].n > 0
    True
    """
    chosen = read_experiment(experiment, seed=seed)
    if resume and out is None:
        raise DefinitionError("there is nothing to resume", found="no folder", do="give out=… (-o DIR)")
    folder = None if out is None else Path(out)
    if folder is not None:
        check_outputs([Output("-o", folder, True)], _read(experiment, chosen, folder))
    held = nullcontext() if folder is None else held_folder(folder, chosen.record, resume=resume)
    with held, use_threads(threads):
        log, splitting = chosen.splitting.with_log(chosen.source)
        chosen = replace(chosen, splitting=splitting)
        if folder is not None:
            open_folder(folder, chosen.record)
        cache = Cache(None if folder is None else folder / FACTS)
        found = do_experiment(chosen, log, cache)
        result = replace(assemble(chosen, log, with_facts(found, cache)), folder=folder)
        if folder is not None:
            write_results(result, folder)
            removed = cache.prune(found.used)  # only now: before the end, an interrupted run could still need them
            if removed.number:
                note(str(removed))
    return result


def _read(source: Any, chosen: Experiment, folder: Path) -> list[Any]:
    """What an experiment reads. Its copy in its own folder may be run: it is written again as it is."""
    data = (
        chosen.source.log,
        chosen.source.items,
        chosen.source.users,
        chosen.options.propensity,
        chosen.options.only_users,
    )
    runs = [path for entry in chosen.systems.values() if entry.kind == "run" for path in entry.run_paths()]
    is_copy = isinstance(source, (str, Path)) and same_file(Path(source), folder / COPY)
    return [*data, dict(chosen.splitting.options), runs, None if is_copy else source]


def with_facts(found: Found, cache: Cache) -> Found:
    """What was found, with facts that are read from the cache when somebody asks for them."""
    evaluations: Evaluations = {}
    for design, repeats in found.evaluations.items():
        for name, evaluation in repeats.items():
            kept = KeptFacts({system: cache.reader(key) for system, key in found.keys[design][name].items()})
            evaluations.setdefault(design, {})[name] = replace(evaluation, facts=kept)
    return replace(found, evaluations=evaluations)


def assemble(experiment: Experiment, log: Interactions, found: Found) -> ExperimentResult:
    """One result per design, over all its repeats."""
    results = {}
    for design, evaluations in found.evaluations.items():
        if experiment.splitting.repeated:
            whole = combine(evaluations, interval=experiment.interval, level=experiment.options.level)
            results[design] = Result(whole, evaluations)
        else:
            results[design] = Result(next(iter(evaluations.values())))
    repeats = list(next(iter(found.evaluations.values())))
    return ExperimentResult(results, experiment, _manifest(experiment, log, found), _warnings(experiment, repeats))


def _manifest(experiment: Experiment, log: Interactions, found: Found) -> dict[str, Any]:
    software = make_manifest({})
    size = {"rows": len(log), "users": log.n_users, "items": log.n_items}
    return {
        "experiment": experiment.record,
        "data": {"name": log.name, **size, "fingerprint": log.fingerprint()},
        "systems": _systems(experiment, found),
        "designs": list(found.evaluations),
        "design_words": {
            design: next(iter(own.values())).manifest["design_words"] for design, own in found.evaluations.items()
        },
        "repeats": [name for name in next(iter(found.evaluations.values())) if name],
        "facts": found.keys,
        "version": software["version"],
        "versions": software["versions"],
    }


def _systems(experiment: Experiment, found: Found) -> dict[str, Any]:
    """What every system was, over all repeats of the first design that has it."""
    described: dict[str, Any] = {}
    for evaluations in found.evaluations.values():
        own = [evaluation.manifest["systems"] for evaluation in evaluations.values()]
        described |= {name: merge_entries([one[name] for one in own]) for name in own[0] if name not in described}
    return {name: described[name] for name in experiment.systems}


def _warnings(experiment: Experiment, repeats: list[str]) -> list[str]:
    """Warnings about the whole experiment."""
    runs = [name for name, entry in experiment.systems.items() if entry.one_for_all]
    if not runs or len(repeats) < 2 or not experiment.splitting.splits_differ:
        return []
    return [
        f"{', '.join(runs)}: one run for all {len(repeats)} splits. Its model has learned from one train part at most, "
        "and may have seen the test rows of the others; a path with {seed} or {fold} names a run for each"
    ]
