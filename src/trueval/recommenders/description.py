"""What a system was, for manifests: its name, all its parameters as they were in effect, whose model, and how long its
fit took."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from trueval.recommenders.adapters.adapted import Adapted, FittedModel, class_of
from trueval.recommenders.protocol import TrainSet
from trueval.recommenders.registry import record_of, text_of
from trueval.recommenders.run import Run

_MOST = 50  # values of a list that is a parameter; longer ones are data
_DEEPEST = 3
Fitted = TypeVar("Fitted")


def describe_system(made: Any) -> dict[str, Any]:
    """A system before its fit, after which other people's objects may have more attributes than parameters.

    >>> import trueval as tv
    >>> describe_system(tv.make_system("average", mu=2))
    {'system': 'average', 'parameters': {'mu': 2.0}}
    """
    if isinstance(made, Run):
        source = made.source
        return {"system": "run", "source": Path(source).name if isinstance(source, (str, Path)) else "a table"}
    record = record_of(made)
    if record is not None:
        values = {name: getattr(made, one.field) for name, one in record.parameters.items()}
        return {"system": record.name, "parameters": _plain_values(values)}
    if isinstance(made, Adapted):
        return {"system": class_of(made.model).__name__, "parameters": model_parameters(made.model)}
    return {"system": text_of(made), "parameters": model_parameters(made)}


def describe_fit(record: Mapping[str, Any], fitted: Any, *, seconds: float | None, train: TrainSet) -> dict[str, Any]:
    """The same after the fit: what was left to the evaluation (its seed, its threshold), a library's version, the time.

    Somebody else's `fit` may return anything: what was made is then described.
    """
    found = dict(record)
    known = record_of(fitted)
    if known is not None:
        left = {name: one.otherwise for name, one in known.parameters.items() if one.otherwise}
        taken = {name: getattr(train, where) for name, where in left.items() if found["parameters"][name] is None}
        found["parameters"] = {**found["parameters"], **taken}
    if isinstance(fitted, FittedModel):
        library = fitted.source.library
        found["library"] = f"{library} {getattr(sys.modules.get(library), '__version__', '')}".rstrip()
        found["fitted"] = "on train" if fitted.here else "before"
    found["definition"] = text_of(fitted)
    if seconds is not None:
        found["fit_seconds"] = round(seconds, 3)
    return found


def time_fit(fit: Callable[[], Fitted]) -> tuple[Fitted, float | None]:
    """What a fit returns, and the seconds that it took; None where SOURCE_DATE_EPOCH asks for the same bytes always."""
    begin = time.perf_counter()
    fitted = fit()
    return fitted, None if os.environ.get("SOURCE_DATE_EPOCH", "").isdigit() else time.perf_counter() - begin


def model_parameters(model: Any) -> dict[str, Any]:
    """The parameters of somebody's model as far as it tells them: by a method, in a configuration, or as attributes.

    >>> class Mine:
    ...     def __init__(self):
    ...         self.factors, self._fitted, self.matrix = 8, True, np.eye(2)
    >>> model_parameters(Mine())
    {'factors': 8}
    """
    for name in ("get_params", "get_config"):
        found = _told(getattr(model, name, None))
        if found:
            return found
    config = getattr(model, "config", None)
    for holder in (config, model):
        dump = _told(getattr(holder, "model_dump", None))
        if dump:
            return dump
        values = _attributes(holder)
        if values:
            return values
    return {}


def _told(method: Any) -> dict[str, Any]:
    """What a method of other people's says, if it says anything: a manifest must not be what fails."""
    if not callable(method) or isinstance(getattr(method, "__self__", None), type):
        return {}
    try:
        found = method()
    except Exception:
        return {}
    return _plain_values(found) if isinstance(found, Mapping) else {}


def _attributes(holder: Any) -> dict[str, Any]:
    if isinstance(holder, Mapping):
        return _plain_values(holder)
    if is_dataclass(holder) and not isinstance(holder, type):
        return _plain_values({one.name: getattr(holder, one.name, None) for one in fields(holder) if one.init})
    return _plain_values(getattr(holder, "__dict__", {}))


def _plain_values(values: Mapping[Any, Any], depth: int = 0) -> dict[str, Any]:
    """Those of some values that JSON has, by names that are not private."""
    found = {}
    for name, value in values.items():
        plain = _plain(value, depth)
        if plain is not _OTHER and not str(name).startswith("_"):
            found[str(name)] = plain
    return found


_OTHER = object()


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)) and len(value) <= _MOST and depth < _DEEPEST:
        inner = [_plain(one, depth + 1) for one in value]
        return _OTHER if any(one is _OTHER for one in inner) else inner
    if isinstance(value, Mapping) and len(value) <= _MOST and depth < _DEEPEST:
        return _plain_values(value, depth + 1) or _OTHER
    return _OTHER
