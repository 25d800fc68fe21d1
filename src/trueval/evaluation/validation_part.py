"""A validation part for the choice of parameters, held out of the train part in the way the test part was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError
from trueval.kernels.seeds import derive
from trueval.splits import as_log, split
from trueval.splits.parts import Parts
from trueval.splits.registry import find_split, split_of
from trueval.splits.uniform import largest_ratio

RATIO = 0.2


def carve(data: Any, *, ratio: float | None = None, seed: int = 0, uniform: bool = False) -> Parts:
    """Train and validation parts of some data, as `train` and `test`; their own test part is dropped.

    With `uniform`, the validation part has the same number of ratings of every candidate item, whatever the split.

    >>> import polars as pl, trueval as tv
    >>> parts = tv.split(pl.DataFrame({"user": [1] * 10, "item": list(range(10))}), "holdout", by="user")
    >>> carved = carve(parts, ratio=0.25)
    >>> len(carved.train) + len(carved.test) == len(parts.train)
    True
    """
    if isinstance(data, (list, tuple)):
        raise DefinitionError(
            "parameters must be chosen on one split", found=f"{len(data)} splits", do="give one: data=folds[0]"
        )
    if isinstance(data, Parts) and data.validation is not None:
        return _with_its_own(data, data.validation, uniform=uniform)
    before: Mapping[str, Any] = data.how if isinstance(data, Parts) else {}
    log = data.train.keep(data.train.frame, name="train") if isinstance(data, Parts) else as_log(data, "log")
    how, options = _like(before, uniform=uniform)
    if find_split(how).uniform:
        options["ratio"] = _uniform_ratio(log, options) if ratio is None else ratio
    elif "ratio" in find_split(how).options:
        options["ratio"] = RATIO if ratio is None else ratio
    # a coin of its own: thrown with the seed of the split before, it would fall the same way for every row
    carved: Any = split(log, how, seed=int(derive(seed, "validation")) >> 32, **options)
    assert isinstance(carved, Parts)
    return carved


def _like(before: Mapping[str, Any], *, uniform: bool) -> tuple[str, dict[str, Any]]:
    """The split that holds rows out as an earlier one did, with the options they share."""
    made = split_of(before)
    if uniform and not (made and made.uniform):
        return "uniform_test", {}
    how, shared = made.carved if made else ("holdout", ())
    return how, {option: before[option] for option in shared if option in before}


def _uniform_ratio(log: Interactions, options: Mapping[str, Any]) -> float:
    """The usual share, or the largest that a uniform part can have where that is less."""
    deciding = {name: options[name] for name in ("eps", "threshold") if name in options}
    return min(RATIO, largest_ratio(log, **deciding))


def _with_its_own(data: Parts, validation: Interactions, *, uniform: bool) -> Parts:
    """The validation part that came along; a U design needs the same number of ratings of every item in it."""
    if not uniform:
        return Parts(data.train, validation, how={"how": "validation", "of": data.how.get("how", "given")})
    counts = validation.frame["item"].value_counts()["count"].to_numpy()
    if counts.min() != counts.max():
        raise DefinitionError(
            "a U design needs a uniform validation part",
            where="validation part",
            found=f"from {counts.min():,} to {counts.max():,} ratings of an item",
            do="omit the validation part: a uniform one is then drawn from train",
        )
    return Parts(data.train, validation, how={"how": "uniform_test", "given": True, "eta": int(counts.max())})
