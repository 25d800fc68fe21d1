"""What is held out: ways to split a log, and what leaks between the parts."""

from __future__ import annotations

from typing import Any, Literal, overload

from trueval.arguments import checked
from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError, suggest
from trueval.progress import note
from trueval.splits.folder import load_parts, save_parts
from trueval.splits.k_core import keep_core
from trueval.splits.leakage import Leakage, leakage
from trueval.splits.options import check_count
from trueval.splits.parts import Parts, with_dropped
from trueval.splits.registry import Split, all_splits, find_split

__all__ = ["Leakage", "Parts", "all_splits", "leakage", "load_parts", "save_parts", "split"]

Single = Literal["holdout", "leave_one_out", "temporal", "user_temporal", "uniform_test", "given", "unbiased"]


@overload
def split(
    log: Any, how: Single = ..., *, seed: int = ..., min_user: int = ..., min_item: int = ..., **options: Any
) -> Parts: ...
@overload
def split(
    log: Any,
    how: Literal["kfold", "rolling"],
    *,
    seed: int = ...,
    min_user: int = ...,
    min_item: int = ...,
    **options: Any,
) -> list[Parts]: ...
@overload
def split(
    log: Any, how: str, *, seed: int = ..., min_user: int = ..., min_item: int = ..., **options: Any
) -> Parts | list[Parts]: ...
@checked
def split(
    log: Any, how: str = "holdout", *, seed: int = 0, min_user: int = 0, min_item: int = 0, **options: Any
) -> Parts | list[Parts]:
    """Split a log into train, test and, where asked for, validation; every row is accounted for.

    Parameters
    ----------
    log : log, table, file, folder or name of a data set
        Anything that `read` takes. With `how="unbiased"` it may be a data set that holds both a biased log and an
        unbiased test (Coat, CM100k, Yahoo! R3, KuaiRec).
    how : text, default "holdout"
        The way to split. By chance: "holdout", "kfold", "uniform_test". By time: "temporal", "rolling",
        "user_temporal", "leave_one_out". Of tables that are already split: "given", "unbiased".
    seed : int, default 0
        Seed of splits that draw at random; splits by time alone ignore it.
    min_user : int, default 0
        Drop users with fewer rows first, and `min_item` likewise, until all that stay have enough.
    min_item : int, default 0
        Drop items with fewer rows first.
    **options : options of the named split
        - holdout: `ratio` (0.2, share of the log to test on), `by` ("rating" or "user": a share of all rows, or of each
          user's), `validation` (share of the log).
        - kfold: `n` (5 folds), `over` ("ratings" or "users").
        - uniform_test: `ratio` (0.2), `eps` (0.2, share of each item kept for train), `round` ("floor" or "nearest"),
          `threshold` (count only values from here on).
        - temporal: `at` (moment of the cut) or `ratio` (0.2), `unseen` ("drop" or "keep" rows of users and items
          without train rows), `validation` (share).
        - rolling: `windows` (5) and `ratio` (0.5, share of the log that they are cut from), or `at` (where they begin);
          `unseen` as for temporal.
        - user_temporal: `ratio` (0.2, share of each user's rows), `validation` (share).
        - leave_one_out: `which` ("last" or "random"), `n` (1 row of each user), `validation` (rows of each user).
        - given: `test`, `validation` (tables); `log` is then the train part.
        - unbiased: `mar` (ratings of items chosen at random), `ratio` (0.2, share of the biased log to hold out),
          `sample` (1.0, share of `mar` to test on).

    Returns
    -------
    Parts or list of Parts
        A list for "kfold" and "rolling", otherwise one `Parts`.

    Raises
    ------
    TruevalError
        For options that the split does not have, and where a part would have no row.

    Examples
    --------
    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1] * 10, "item": list(range(10))}))
    >>> parts = split(log, "holdout", ratio=0.3, by="user", seed=1)
    >>> len(parts.train), len(parts.test), parts.how["seed"]
    (7, 3, 1)
    """
    record = find_split(how)
    _check_options(record, options)
    if record.pair:
        from trueval.data.read import read_pair

        log, options[record.pair] = read_pair(log, options.get(record.pair))
    log = as_log(log, "log")
    options |= {name: as_log(options[name], name) for name in record.tables if options.get(name) is not None}
    if record.seeded:
        options["seed"] = check_count("seed", seed, split=how, least=0)
    if not min_user and not min_item:
        return _with_notes(record.function(log, **options))
    few = {
        name: check_count(name, n, split=how, least=0) for name, n in (("min_user", min_user), ("min_item", min_item))
    }
    if record.tables:
        raise DefinitionError(
            "min_user and min_item cannot be used with tables that are already split",
            where=f"split {how}",
            found=f"min_user = {min_user}, min_item = {min_item}",
            do="leave min_user and min_item out",
        )
    log, dropped = keep_core(log, **few)
    made = record.function(log, **options)
    if isinstance(made, Parts):
        return _with_notes(with_dropped(made, dropped, options=few))
    return _with_notes([with_dropped(parts, dropped, options=few) for parts in made])


def _with_notes(made: Parts | list[Parts]) -> Parts | list[Parts]:
    """The same parts, after notes on rows that were dropped without being asked for."""
    several = [made] if isinstance(made, Parts) else made
    for number, parts in enumerate(several, 1):
        for caution in parts.cautions:
            note(f"split {parts.how['how']}{f', part {number}' if len(several) > 1 else ''}: {caution}")
    return made


def options_of(how: str) -> list[str]:
    """Names of the options of a split.

    >>> options_of("kfold")
    ['n', 'over', 'seed']
    """
    record = find_split(how)
    return [*record.options, *(["seed"] if record.seeded else [])]


def _check_options(record: Split, options: dict[str, Any]) -> None:
    known = options_of(record.name)
    for name in options:
        if name not in known:
            raise DefinitionError(
                f"the split {record.name} has no option {name!r}",
                where=f"split {record.name}",
                found=f"{name} = {options[name]!r}",
                do=suggest(name, known),
            )
    for name in record.required:
        if name != record.pair and options.get(name) is None:
            raise DefinitionError(
                f"the split {record.name} needs a second table" if record.options[name].table
                else f"the split {record.name} needs {name}",
                where=f"split {record.name}", found=f"no {name}", do=f"add {name}=…",
            )  # fmt: skip


def as_log(source: Any, name: str) -> Interactions:
    """A log as it is, or read from anything that `trueval.read` takes."""
    if isinstance(source, Interactions):
        return source
    from trueval.data.read import read

    log = read(source)
    return log if log.name != "log" else log.keep(log.frame, name=name)
