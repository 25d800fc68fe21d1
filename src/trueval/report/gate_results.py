"""The gate between two results, in memory or on disk: the public function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trueval.arguments import checked
from trueval.comparison.comparison import label_of
from trueval.comparison.gate import Gate, judge
from trueval.comparison.join_results import Joined, join
from trueval.comparison.margins import better_side, margin_of, parse_margins
from trueval.comparison.non_inferiority import NEW, OLD
from trueval.data.table_columns import read_columns
from trueval.data.users import read_users
from trueval.errors import DataError, DefinitionError, suggest
from trueval.evaluation.group_values import MIN_GROUP
from trueval.evaluation.groups import By
from trueval.evaluation.outcome import Evaluation
from trueval.metrics.grammar import split_list
from trueval.report.compare_results import parts_of
from trueval.report.gate_pairs import GatedPair, try_groups, try_metrics
from trueval.statistics.multiple_comparisons import check_correction

__all__ = ["Gate", "gate"]


@checked
def gate(
    new: Any,
    old: Any,
    *,
    metrics: str | Sequence[str] | None = None,
    margin: str | float | Mapping[str, Any] = "1%",
    level: float = 0.95,
    correct: str = "holm",
    system: str | None = None,
    old_system: str | None = None,
    by: By = None,
    users: Any = None,
    columns: Mapping[str, Any] | str | None = None,
    min_group: int = MIN_GROUP,
) -> Gate:
    """Tell whether a new system is worse than an old one by more than a margin, paired over common users.

    Two one-sided tests are made on each metric. One shows that the new system is not worse by more than the margin; the
    gate passes where it does so for every metric (and group). The other shows that the new system is worse by more than
    the margin; the verdict is "worse" where it does so for any of them, corrected for their number. Otherwise the users
    are too few for either, and the verdict is "cannot tell". A margin relative to the old value is tested as
    new - (1 - m) · old, user by user, so that the uncertainty of the old value counts.

    A wrong "pass" and a wrong "worse" each have a probability of 1 - level at most, also where a rare few users lose
    (or gain) much: a loss that hits fewer than 1 in n / 3 users may not show among n users, and the gate passes only
    where as large a loss as the range of the metric allows would stay within the margin. So it takes 3 / m users to
    pass with a margin of m, in a metric from 0 to 1, even if no user's value differs. The test is Gaffke's of the mean
    of bounded values: the users and one more, who loses all that one can lose, with random weights; for many users it
    is Student's t. Metrics without an upper bound take the largest value seen. Over seeds, Student's t must show it,
    too. System metrics (coverage) are tested by a jackknife over groups of users.

    Of 300 pairs of results of a system that was trained twice, with 5,000 users half of whom were ranked anew and a
    margin of 1 %, 1.3 % were called worse; the rule "new < 0.99 · old" failed 31 %. With 50,000 users of whom a tenth
    were ranked anew, a loss of twice the margin was found in 96 % (`benchmarks/gate_table.py`).

    Parameters
    ----------
    new : Result or path
        The result of the new system: a result, a result folder, or a file of users' values (see `Result.save`).
    old : Result or path
        The result of the old system, made in the same way: on the same data, with the same options.
    metrics : text or list of text, optional
        The metrics that must not become worse. Default: those with a margin of their own, otherwise all that have a
        better side.
    margin : text, number or mapping, default "1%"
        How much worse the new system may be: a share of the old value ("1%") or a difference (0.005); for all metrics,
        or for each ("ndcg@10=1%,coverage@10=0.02", or a mapping). A difference that no fall could exceed is refused.
    level : number, default 0.95
        Confidence of either verdict, from 0.8.
    correct : {"holm", "bonferroni", "bh", "none"}, default "holm"
        Correction of "worse" for the number of metrics and groups. "pass" needs none, since all of them must pass.
    system : text, optional
        The system, where results have several.
    old_system : text, optional
        The system of the old result, where it has another name.
    by : text or list of text, optional
        Columns of `users`: each of their groups is tested, too, against a margin relative to its own old value.
    users : table or file, optional
        Table of users with columns to group by.
    columns : mapping or text, optional
        The column of user ids of `users`, where it has no common name: {"user": "uid"} or "user=uid".
    min_group : int, default 30
        Groups with fewer common users are not tested.

    Returns
    -------
    Gate
        `verdict`, `passed`, `exit_code`, `rows`, `table()`, `to_markdown()`, `to_json()`, `raise_if_worse()`. Prints as
        a table.

    Raises
    ------
    TruevalError
        For results that differ in anything but the system (data, split, design, population, definitions, …), with what
        differs; for metrics without a better side; for metrics that cannot be tested.

    Examples
    --------
    >>> import polars as pl, trueval as tv
    >>> test = pl.DataFrame({"user": range(900), "item": [u % 7 for u in range(900)]})
    >>> def hit(share):
    ...     hits = pl.col("user") * 7919 % 1000 < 1000 * share
    ...     run = test.with_columns(item=pl.when(hits).then("item").otherwise(9), rank=pl.lit(1))
    ...     return tv.evaluate_run(run, test, metrics="hit@1")
    >>> [gate(hit(share), hit(0.5), margin="5%").verdict for share in (0.51, 0.47, 0.4)]
    ['pass', 'cannot tell', 'worse']
    """
    _check(level, min_group, by, users)
    roles = read_columns(columns, ("user",), users=users)
    users = None if users is None else read_users(users, columns=roles)
    check_correction(correct)
    margins = parse_margins(margin)
    asked = split_list(metrics) if isinstance(metrics, str) else metrics
    asked = list(margins.named) if asked is None and margins.named and margins.for_all is None else asked
    sides = {
        f"new{_path_text(new)}": _one_system(new, system, called=NEW),
        f"old{_path_text(old)}": _one_system(old, old_system or system, called=OLD),
    }
    names = tuple(name for name, _ in sides.values())
    parts = {
        f"{side}, {part}" if part else side: evaluation
        for side, (_, found) in sides.items()
        for part, evaluation in found.items()
    }
    joined = join(parts)
    asked_labels = None if asked is None else _labels(asked, joined, list(parts.values()))
    by_label = {_label(name, joined, list(parts.values())): own for name, own in margins.named.items()}
    labels, notes = _with_a_side(joined, asked_labels)
    pair = GatedPair.of(joined, level=level)
    tried, more = try_metrics(pair, {label: margin_of(label, by_label, margins.for_all) for label in labels}, asked)
    by_group, about_groups = try_groups(pair, tried, by, users, min_group)
    manifest = {**joined.manifest, "gate": {"margin": _margin_record(margin), "level": level, "correct": correct}}
    notes = [*joined.notes, *notes, *more, *about_groups]
    return judge(
        [*tried, *by_group], level=level, correct=correct, names=(names[0], names[1]), manifest=manifest, notes=notes
    )


def _check(level: float, min_group: int, by: By, users: Any) -> None:
    if not 0.8 <= level < 1:
        raise DefinitionError("the level must be from 0.8 to below 1", found=f"{level:g}", do="use 0.95")
    if min_group < 2:
        raise DefinitionError("groups must have at least two users", found=f"min_group {min_group}")
    if by is not None and users is None:
        raise DefinitionError("groups need a table of users", found=f"by {by}", do="pass users=… (--users FILE)")
    if by is None and users is not None:
        raise DefinitionError("a table of users without a column to group by", do="pass by=… (--by COLUMN)")


def _path_text(result: Any) -> str:
    return f" ({result})" if isinstance(result, (str, Path)) else ""


def _margin_record(margin: Any) -> Any:
    return {str(name): str(own) for name, own in margin.items()} if isinstance(margin, Mapping) else str(margin)


def _one_system(result: Any, system: str | None, *, called: str) -> tuple[str, dict[str, Evaluation]]:
    """The chosen system's name, and the evaluations of it alone, in which it is called otherwise.

    The record of how systems were made is left out: that they were made differently is what the gate is for.
    """
    parts = parts_of(result)
    known = list(dict.fromkeys(name for evaluation in parts.values() for name in evaluation.systems))
    if system is None and len(known) > 1:
        raise DefinitionError(
            f"the {called} result has several systems", where=_path_text(result).strip(" ()"), found=", ".join(known),
            do="choose one with system=… (--system NAME)",
        )  # fmt: skip
    name = known[0] if system is None else system
    if name not in known:
        option = "system" if called == NEW else "old_system"
        raise DefinitionError(
            f"the {called} result has no system {name!r}", where=_path_text(result).strip(" ()"),
            found=f"{option} {name}", do=suggest(name, known),
        )  # fmt: skip
    alone = {
        part: replace(
            evaluation,
            systems={called: evaluation.systems[name]},
            manifest={key: value for key, value in evaluation.manifest.items() if key != "systems"},
        )
        for part, evaluation in parts.items()
        if name in evaluation.systems
    }
    return name, alone


def _labels(asked: Sequence[str], joined: Joined, evaluations: Sequence[Evaluation]) -> list[str]:
    labels = [_label(metric, joined, evaluations) for metric in asked]
    if not labels:
        raise DefinitionError("no metric for the gate was given", do=f"available: {', '.join(joined.specs)}")
    return list(dict.fromkeys(labels))


def _label(metric: str, joined: Joined, evaluations: Sequence[Evaluation]) -> str:
    """The label of a metric; one that only could not be joined is refused with the reason."""
    everywhere = {label: spec for e in evaluations for label, spec in e.specs.items()}
    label = label_of(metric, everywhere)
    if label not in joined.specs:
        raise DataError(f"{label} cannot be compared", found="\n".join(joined.notes), do="evaluate both alike")
    return label


def _with_a_side(joined: Joined, labels: list[str] | None) -> tuple[list[str], list[str]]:
    """The metrics to test, and a note on those that have no better side, where they were not asked for."""
    if labels is not None:
        for label in labels:
            better_side(label, joined.specs[label])
        return labels, []
    kept = [label for label, spec in joined.specs.items() if spec.better != "neither"]
    if not kept:
        raise DefinitionError("no metric of the results has a better side", found=", ".join(joined.specs))
    left = [label for label in joined.specs if label not in kept]
    return kept, [f"not tested, since they have no better side: {', '.join(left)}"] if left else []
