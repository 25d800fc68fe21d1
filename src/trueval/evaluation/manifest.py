"""The manifest: everything that must be equal for two results to be comparable."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from trueval.metrics.spec import Spec


def make_manifest(specs: Mapping[str, Spec], *, condensed: bool = False, **choices: Any) -> dict[str, Any]:
    """Definitions, choices and versions behind a result."""
    import numpy
    import polars

    from trueval import __version__

    definitions = {label: spec.define(condensed=condensed) for label, spec in specs.items()}
    versions = {
        "python": platform.python_version(), "numpy": numpy.__version__, "polars": polars.__version__,
        "scipy": _version_of("scipy"), "numba": _version_of("numba"),
    }  # fmt: skip
    kept = {name: value for name, value in choices.items() if value is not None}
    return {**kept, "definitions": definitions, "version": __version__, "versions": versions}


@cache
def _version_of(package: str) -> str:
    """The version that is installed, of a library that is not loaded where nothing needs it."""
    from importlib.metadata import version

    return version(package)


def merge_entries(values: Sequence[Any]) -> Any:
    """What several manifests say of the same thing: once where they agree, else a list, entry by entry.

    >>> merge_entries([{"system": "ease", "fit_seconds": 1}, {"system": "ease", "fit_seconds": 2}])
    {'system': 'ease', 'fit_seconds': [1, 2]}
    """
    first = values[0]
    if all(value == first for value in values):
        return first
    if all(isinstance(value, Mapping) and value.keys() == first.keys() for value in values):
        return {key: merge_entries([value[key] for value in values]) for key in first}
    return list(values)
