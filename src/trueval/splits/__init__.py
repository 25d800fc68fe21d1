"""What is held out: ways to split a log, and what leaks between the parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, overload

from trueval.arguments import checked
from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError, suggest
from trueval.progress import note
from trueval.splits.core import keep_core
from trueval.splits.folder import load_parts, save_parts
from trueval.splits.given import given, unbiased
from trueval.splits.holdout import holdout, kfold
from trueval.splits.last import leave_one_out, user_temporal
from trueval.splits.leakage import Leakage, leakage
from trueval.splits.options import check_count
from trueval.splits.parts import Parts, with_dropped
from trueval.splits.temporal import rolling, temporal
from trueval.splits.uniform import uniform_test

__all__ = ["SPLITS", "Leakage", "Parts", "leakage", "load_parts", "save_parts", "split"]

Single = Literal["holdout", "leave_one_out", "temporal", "user_temporal", "uniform_test", "given", "unbiased"]

SPLITS: dict[str, Callable[..., Parts | list[Parts]]] = {
    "holdout": holdout,
    "kfold": kfold,
    "leave_one_out": leave_one_out,
    "temporal": temporal,
    "user_temporal": user_temporal,
    "rolling": rolling,
    "uniform_test": uniform_test,
    "given": given,
    "unbiased": unbiased,
}
_TABLES = ("test", "validation")  # options of given that are tables


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
    """Split a log in a named way; `kfold` and `rolling` give several parts, the others one.

    `log` is anything `trueval.read` takes. Users and items with fewer than `min_user` and `min_item` rows are
    dropped first, until all that stay have enough. Options are those of the named split. For `unbiased`, the log
    and `mar` may be one data set that holds a biased log and an unbiased test (Coat, CM100k, Yahoo! R3, KuaiRec).

    >>> import polars as pl
    >>> log = Interactions.of(pl.DataFrame({"user": [1] * 10, "item": list(range(10))}))
    >>> parts = split(log, "holdout", ratio=0.3, by="user", seed=1)
    >>> len(parts.train), len(parts.test), parts.how["seed"]
    (7, 3, 1)
    """
    make = _named(how)
    known = options_of(how)
    _check_options(how, known, options)
    if how == "unbiased":
        from trueval.data.read import read_pair

        log, options["mar"] = read_pair(log, options.get("mar"))
    log = as_log(log, "log")
    if how == "given":
        options |= {name: as_log(options[name], name) for name in _TABLES if options.get(name) is not None}
    if "seed" in known:
        options["seed"] = check_count("seed", seed, split=how, least=0)
    if not min_user and not min_item:
        return _told(make(log, **options))
    few = {
        name: check_count(name, n, split=how, least=0) for name, n in (("min_user", min_user), ("min_item", min_item))
    }
    if how in ("given", "unbiased"):
        raise DefinitionError(
            "rows of tables that are already split cannot be left out",
            where=f"split {how}",
            found=f"min_user = {min_user}, min_item = {min_item}",
            do="leave min_user and min_item out",
        )
    log, dropped = keep_core(log, **few)
    made = make(log, **options)
    if isinstance(made, Parts):
        return _told(with_dropped(made, dropped, told=few))
    return _told([with_dropped(parts, dropped, told=few) for parts in made])


def _told(made: Parts | list[Parts]) -> Parts | list[Parts]:
    """The same, after a note on rows that nobody asked to drop."""
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
    return list(inspect.signature(_named(how)).parameters)[1:]


def _named(how: str) -> Callable[..., Parts | list[Parts]]:
    if isinstance(how, str) and how in SPLITS:
        return SPLITS[how]
    raise DefinitionError(f"there is no split {how!r}", where="split", found=repr(how), do=suggest(str(how), SPLITS))


def _check_options(how: str, known: list[str], options: dict[str, Any]) -> None:
    for name in options:
        if name not in known:
            raise DefinitionError(
                f"the split {how} has no option {name!r}",
                where=f"split {how}",
                found=f"{name} = {options[name]!r}",
                do=suggest(name, known),
            )
    if how == "given" and options.get("test") is None:
        raise DefinitionError(
            "the split given needs a second table", where="split given", found="no test", do="add test=…"
        )


def as_log(source: Any, name: str) -> Interactions:
    """A log as it is, or read from anything that `trueval.read` takes."""
    if isinstance(source, Interactions):
        return source
    from trueval.data.read import read

    log = read(source)
    return log if log.name != "log" else log.keep(log.frame, name=name)
