"""Systems by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from trueval.errors import DefinitionError, suggest
from trueval.recommenders.baselines import Average, Popularity, Random
from trueval.recommenders.given import Function, Scores
from trueval.recommenders.protocol import Recommender

_MAKERS: dict[str, Callable[..., Any]] = {"random": Random, "popularity": Popularity, "average": Average}


def systems() -> list[str]:
    """Names of the systems that come with trueval.

    >>> "popularity" in systems()
    True
    """
    return sorted(_MAKERS)


def make_system(spec: Any, **parameters: Any) -> Recommender:
    """A system from its name and parameters, a function, a score matrix, or an object that is one already.

    >>> make_system("average", mu=2.0)
    Average(mu=2.0)
    """
    if isinstance(spec, str):
        if spec not in _MAKERS:
            raise DefinitionError(f"unknown system {spec!r}", found=suggest(spec, _MAKERS))
        maker = _MAKERS[spec]
        known = [name for name in inspect.signature(maker).parameters if not name.startswith("_")]
        for name in parameters:
            if name not in known:
                raise DefinitionError(f"{spec} has no parameter {name!r}", found=suggest(name, known))
        return maker(**parameters)
    if hasattr(spec, "fit") and hasattr(spec, "score"):
        return spec
    if isinstance(spec, np.ndarray) or hasattr(spec, "toarray"):
        return Scores(spec)
    if callable(spec):
        return Function(spec)
    raise DefinitionError(
        "this is not a system",
        found=f"{type(spec).__name__}",
        do="give a name, a function users -> scores, a score matrix, or an object with fit(train) and score(users)",
    )


def name_systems(specs: Any) -> dict[str, Any]:
    """Names for the systems of an evaluation; a mapping keeps its own.

    >>> list(name_systems(["random", "popularity"]))
    ['random', 'popularity']
    """
    if isinstance(specs, dict):
        return dict(specs)
    if isinstance(specs, str) or not isinstance(specs, (list, tuple)):
        specs = [specs]
    named: dict[str, Any] = {}
    for spec in specs:
        name = spec if isinstance(spec, str) else getattr(spec, "name", None) or getattr(spec, "__name__", "")
        name = name or type(spec).__name__
        if name in named:
            raise DefinitionError(f"two systems are called {name!r}", do="give a mapping from names to systems")
        named[name] = spec
    return named
