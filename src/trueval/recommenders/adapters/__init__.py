"""Models of other libraries as systems: implicit, Surprise, RecTools, Cornac, LensKit, RecBole.

A model is recognised by the module of its class; its library is imported by nobody but its owner and its adapter.
To add a library, write a module here with `needs`, `fitted`, `learn` and `open_model` (see `adapted.Library`) and name
it in `LIBRARIES`.
"""

from __future__ import annotations

from typing import Any

from trueval.errors import DefinitionError
from trueval.forks import needs_threads
from trueval.recommenders.adapters.adapted import Adapted, Given

# Import name of a library → the extra of trueval that installs it. Adapters are called like the extra.
LIBRARIES = {
    "implicit": "implicit",
    "surprise": "surprise",
    "rectools": "rectools",
    "cornac": "cornac",
    "lenskit": "lenskit",
    "recbole": "recbole",
}


def library_of(model: Any) -> str | None:
    """Import name of the library that a model (or its nearest parent class) comes from; None for all others.

    >>> library_of("popularity") is None
    True
    """
    kind = model if isinstance(model, type) else type(model)
    roots = (parent.__module__.split(".")[0] for parent in kind.__mro__)
    return next((root for root in roots if root in LIBRARIES), None)


@needs_threads
def adapt(
    model: Any,
    *,
    users: Any = None,
    items: Any = None,
    dataset: Any = None,
    unknown: str | None = None,
    refit: bool = False,
    name: str | None = None,
) -> Adapted:
    """Make a system of a model of implicit, Surprise, RecTools, Cornac, LensKit or RecBole.

    A model that is not fitted is copied, and the copy is fitted on the train part. A fitted model is scored as it is:
    make sure that it has not seen the test part. The ids it was fitted with are read from it where it keeps them
    (Surprise, Cornac, LensKit pipelines).

    Parameters
    ----------
    model : model of one of these libraries
        Fitted or not.
    users : list of ids, optional
        The ids of the model's rows of users, in their order (implicit). Default: rows follow the sorted ids of train
        and test together.
    items : list of ids, optional
        The ids of its rows of items, likewise.
    dataset : object of the library, optional
        What the model was fitted on (RecTools and RecBole: needed; LensKit: for a scorer without pipeline).
    unknown : {"error", "last"}, optional
        Users and items that the model has not learned: raise an error, or rank unknown items behind all others, tied,
        and tie all items for unknown users. Default: "error" for fitted models, and "last" for models fitted here,
        where the unknown are those without train rows.
    refit : bool, default False
        Fit a copy of a fitted model, too.
    name : text, optional
        What to call the system. Default: the name that the model has, or that of its class.

    Returns
    -------
    Adapted
        A system, to give to `evaluate`.

    Raises
    ------
    TruevalError
        For models of other libraries; these need `fit(train)` and `score(users)`.

    Examples
    --------
    >>> adapt(object())
    Traceback (most recent call last):
    trueval.errors.DefinitionError: this is not a model of a library that trueval knows
      found: object
      do:    available: cornac, implicit, lenskit, recbole, rectools, surprise; others need fit(train) and score(users)
    """
    library = library_of(model)
    if library is None:
        raise DefinitionError(
            "this is not a model of a library that trueval knows",
            found=type(model).__name__,
            do=f"available: {', '.join(sorted(LIBRARIES))}; others need fit(train) and score(users)",
        )
    if unknown not in (None, "error", "last"):
        raise DefinitionError(f"unknown cannot be {unknown!r}", found=f"{unknown!r}; available: error, last")
    return Adapted(model, LIBRARIES[library], Given(users, items, dataset), unknown, refit, name)
