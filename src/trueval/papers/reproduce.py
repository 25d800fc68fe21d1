"""Rerun a paper: the public function."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from trueval import __version__
from trueval.arguments import checked
from trueval.data.interactions import Interactions
from trueval.errors import DataError, DefinitionError, suggest
from trueval.kernels import use_threads
from trueval.papers.folder import STEPS, WORK, held_folder, write_results
from trueval.papers.registry import DataSlot, FigureMaker, Paper, chosen_figures, paper_of
from trueval.papers.reproduction import Reproduction
from trueval.papers.setting import Setting
from trueval.papers.steps import KeptSteps
from trueval.papers.write import files_of
from trueval.progress import note
from trueval.report.protected import Output, check_outputs

__all__ = ["Reproduction", "reproduce"]


@checked
def reproduce(
    paper: str,
    figures: str | Sequence[str] | None = None,
    *,
    data: Any = None,
    out: str | Path | None = None,
    quick: bool = False,
    resume: bool = False,
    seed: int = 0,
    threads: int | None = None,
) -> Reproduction:
    """Rerun the experiments of a paper, and compare every number and claim with what is found here.

    Parameters
    ----------
    paper : {"steck2011", "bellogin2017", "mena2020", "parapar2021"}
        Its first author and year.
    figures : text or list of text, optional
        Some of its figures and tables, as the paper numbers them ("3", "table1"). Default: all.
    data : path, log or mapping, optional
        The data set of the paper in its original format, or a log; a mapping from names to data where a paper uses
        several. Default: a generated world of the same shape.
    out : path, optional
        Folder to write: a page, tables, charts, statements, and finished steps of the work. Default: nothing.
    quick : bool, default False
        Fewer repetitions and fewer points on curves, by the same code.
    resume : bool, default False
        Continue in a folder that holds a rerun: finished steps are kept.
    seed : int, default 0
        Seed of splits, samples, starting values and worlds.
    threads : int, optional
        Number of threads. Default: one for each available core.

    Returns
    -------
    Reproduction
        `figures` with their tables and charts, and `statements`: what was published, what was found, a verdict.

    Raises
    ------
    TruevalError
        For papers and figures that do not exist, data that the paper cannot be rerun on, and folders of others.

    Examples
    --------
    >>> import trueval as tv
    >>> found = tv.reproduce("bellogin2017", "7", quick=True)
    >>> [figure.name for figure in found.figures], {row.figure for row in found.statements}
    (['7'], {'7'})
    """
    record = paper_of(paper)
    chosen = chosen_figures(record, [figures] if isinstance(figures, str) else list(figures or ()))
    given = _given(record, data)
    if resume and out is None:
        raise DefinitionError("there is nothing to resume", found="no folder", do="give out=… (-o DIR)")
    with ExitStack() as stack:
        if out is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trueval-")))
        else:
            folder = Path(out)
            check_outputs([Output("-o", folder, True)], list(given.values()))
            stack.enter_context(held_folder(folder, {"paper": paper, "version": __version__}, resume=resume))
        stack.enter_context(use_threads(threads))
        found = _made(_setting(record, given, folder, quick=quick, seed=seed), record, chosen)
        if out is not None:
            write_results(folder, files_of(found), found.manifest)
    return found


def _given(paper: Paper, data: Any) -> dict[str, Any]:
    """Data by slot; what has no name belongs to the first."""
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        return {next(iter(paper.data)): data}
    first = next(iter(paper.data))
    named = {name or first: one for name, one in data.items()}
    for name in named:
        if name not in paper.data:
            raise DefinitionError(f"{paper.name} has no data called {name!r}", do=suggest(name, paper.data))
    return named


def _setting(paper: Paper, given: Mapping[str, Any], folder: Path, *, quick: bool, seed: int) -> Setting:
    logs: dict[str, Interactions] = {}
    for name, slot in paper.data.items():
        if name in given:
            logs[name] = _read(slot, given[name])
            slot.check(logs[name])
        else:
            note(f"{paper.name}: no data for {slot.what}; a generated world of the same shape stands in")
            logs[name] = slot.world(quick, seed)
    common = {
        "paper": paper.name, "version": __version__, "seed": seed, "quick": quick,
        "data": {name: log.fingerprint() for name, log in logs.items()},
    }  # fmt: skip
    generated = {name: name not in given for name in paper.data}
    steps = KeptSteps(folder / STEPS, common)
    return Setting(paper.name, logs, generated, quick, seed, steps, folder / WORK)


def _read(slot: DataSlot, source: Any) -> Interactions:
    """The data of a slot. Columns are not named here, as other commands advise for tables of another format."""
    try:
        return slot.read(source)
    except DataError as problem:
        if "--columns" not in problem.do:
            raise
        do = f"give {slot.what} in its original format; in Python, data=tv.read(…, columns=…) takes other tables"
        raise DataError(problem.what, where=problem.where, found=problem.found, do=do) from problem


def _made(setting: Setting, paper: Paper, chosen: Sequence[FigureMaker]) -> Reproduction:
    figures = []
    for place, one in enumerate(chosen, 1):
        note(f"{paper.name}: {one.name} ({place} of {len(chosen)}), {one.title}")
        figures.append(one.make(setting))
    return Reproduction(paper, tuple(figures), _manifest(setting, chosen))


def _manifest(setting: Setting, chosen: Sequence[FigureMaker]) -> dict[str, Any]:
    return {
        "paper": setting.paper,
        "figures": [one.name for one in chosen],
        "data": {
            name: {
                "name": log.name, "generated": setting.generated[name], "rows": len(log), "users": log.n_users,
                "items": log.n_items, "fingerprint": log.fingerprint(),
            }
            for name, log in setting.logs.items()
        },
        "quick": setting.quick,
        "seed": setting.seed,
        "version": __version__,
    }  # fmt: skip
