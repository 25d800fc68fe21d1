"""`study_analysis`: what the answers of a user study say about systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from trueval.arguments import checked
from trueval.errors import DataError, DefinitionError
from trueval.metrics.grammar import split_list
from trueval.online.user_study.analysis import analyse_tables
from trueval.online.user_study.options import StudyOptions
from trueval.online.user_study.result import StudyAnalysis
from trueval.online.user_study.tables import ANSWERS, FORMS, study_tables
from trueval.report.compare_results import named_parts

__all__ = ["StudyAnalysis", "study_analysis"]


@checked
def study_analysis(
    answers: Any,
    *,
    first: str | Sequence[str] | None = None,
    against: Any = None,
    metrics: str | Sequence[str] | None = None,
    blanks: str | None = None,
    database: str | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> StudyAnalysis:
    """Analyse a user study: what people prefer, how sure that is, and which offline metric would have told it.

    Parameters
    ----------
    answers : table, file, folder, study file or mapping from names to tables
        Rankings (participant, system, rank), choices between two lists (participant, left, right, answer) or answers
        on scales (participant, system, value and perhaps question), each perhaps with task, position and check; a
        folder that `trueval study export` wrote; a study file (TOML), whose database is read.
    first : text or list of text, optional
        Systems that were expected to be ranked first before anybody answered. Whether they are so more often than by
        chance is tested, one-sided.
    against : Result, path, list of these, or mapping from names to these, optional
        Offline evaluations of the same systems, three or more: how far each of their metrics agrees with people.
    metrics : text or list of text, optional
        Metrics of these results. Default: all.
    blanks : {"worse", "not looked at"}, optional
        What a list without a place in a ranking means. Default: what the study file said to participants; rankings of
        elsewhere that have blanks need it. "worse": below all lists that have a place. "not looked at": nothing is said
        of it; where blanks depend on the list, or could with so few answers, no order of the systems is told.
    database : text, optional
        Address of the database of a study file. Default: the SQLite file beside it.
    level : number, default 0.95
        Confidence level of the intervals, and 1 minus the significance level of the tests.
    resamples : int, default 1000
        How often participants are resampled; 0 for no intervals of strengths and medians.
    seed : int, default 0
        Seed of resamples and permutations.

    Returns
    -------
    StudyAnalysis
        `findings` with `rankings`, `pairs` and `scales`, `careful` (the same without participants who failed a planted
        check), `checks`, `position_bias`, `attendance`, `against`. Prints as text; `table()` has a row per system.

    Raises
    ------
    TruevalError
        For answers that lack columns, come twice, or are of one system only, and for blanks whose meaning is not said.

    Examples
    --------
    >>> people = [*["abc"] * 7, *["bac"] * 3, "cab"]
    >>> rows = [(n, s, order.index(s) + 1) for n, order in enumerate(people) for s in order]
    >>> answers = pl.DataFrame(rows, schema=["participant", "system", "rank"], orient="row")
    >>> found = study_analysis(answers, first=["a", "b"])
    >>> [(s.system, round(s.mean_rank, 2), s.fulfilled, s.violated, s.first) for s in found.findings.rankings.systems]
    [('a', 1.36, 18, 4, 7), ('b', 1.82, 13, 9, 3), ('c', 2.82, 2, 20, 1)]
    >>> round(found.findings.rankings.first.p, 4)  # 10 of 11 or more, with 2/3 by chance
    0.0751
    """
    named = split_list(first) if isinstance(first, str) else first
    options = StudyOptions(
        first=tuple(named or ()), blanks=blanks, level=level, resamples=resamples, seed=seed
    )  # fmt: skip
    chosen = split_list(metrics) if isinstance(metrics, str) else metrics
    name = Path(answers).stem if isinstance(answers, (str, Path)) else ""
    if isinstance(answers, (str, Path)) and Path(answers).suffix in (".sqlite", ".sqlite3", ".db"):
        raise DataError(
            "this is the database of a study, and only its study file tells what is in it", where=str(answers),
            do=f"give the study file, and this database if it is another one: --database sqlite:///{answers}",
        )  # fmt: skip
    if database is not None and not _is_study(answers):
        raise DefinitionError(
            "only a study file has a database", where="database", found=database,
            do="leave it out, or give the study file (.toml) in place of the answers",
        )  # fmt: skip
    tables = study_tables(_stored(Path(answers), database) if _is_study(answers) else answers)
    offline = None if against is None else named_parts(against)
    return analyse_tables(tables, options=options, against=offline, metrics=chosen, name=name)


def _is_study(answers: Any) -> bool:
    return isinstance(answers, (str, Path)) and Path(answers).suffix == ".toml"


def _stored(path: Path, database: str | None) -> dict[str, pl.DataFrame]:
    """What the database of a study holds."""
    try:
        from trueval.study.export import export_tables
    except ImportError as error:
        raise DataError(
            "the database of a study needs the extra study", where=str(path), found=f"no package {error.name}",
            do='pip install "trueval[study]", or give the folder that trueval study export wrote',
        ) from None  # fmt: skip
    from trueval.study.definition import read_study

    study = read_study(path)
    stored = export_tables(study, database, names=FORMS)
    if not any(len(stored[name]) for name in ANSWERS):
        began = len(stored["participants"])
        raise DataError(
            "nobody has answered yet", where=str(path), found=f"participants who began: {began:,}",
            do="wait for answers, or name another database (--database)",
        )  # fmt: skip
    return stored
