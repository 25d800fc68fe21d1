"""Systems by name: one record per system, read by `make_system`, `trueval systems`, reports and tests.

To add a system, write a dataclass in a file of its own and register it:

    @system("mymodel", objective="Σ_ui (r_ui − p_u·q_i)²", reference="Author, Title, Venue Year", needs="values")
    @dataclass(slots=True, kw_only=True)
    class MyModel:
        \"\"\"One line that says what it does.\"\"\"

        n_factors: int = parameter(50, "length of the factor vectors", low=1)
        seed: int | None = parameter(None, "seed of the factors (default: that of the evaluation)", otherwise="seed")
        _users: np.ndarray = field(default=NOTHING, init=False, repr=False)

        def fit(self, train: TrainSet) -> MyModel: ...
        def score(self, users: np.ndarray) -> np.ndarray: ...
        def factors(self): ...  # optional, where scores are inner products

and add its name and module to `_HOMES` below. Parameters are the fields made by `parameter(...)`: type (from the
annotation: int, float, bool, str, None), range and choices are checked whenever the class is made, by whomever;
`otherwise` is the attribute of the train set that None stands for, which manifests tell in its place.
The field `n_factors` is the parameter `factors` by name (`mymodel[factors=20]`), since `factors` is a method.
`needs` is "values" (ratings), "rows" (anything at all) or None; `fit` is not called on a train set without them, nor
with values that are not finite. Inside `fit` and `score`, `training.py` has the checks and matrices that systems
share. A module imports nothing heavier than NumPy at its top: SciPy, scikit-learn and `implicit` belong into `fit`.

Models of other libraries are taken as they are, through `adapters`, where libraries are added.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

import numpy as np

from trueval.arguments import checked
from trueval.errors import DefinitionError, suggest
from trueval.forks import needs_threads
from trueval.recommenders.adapters import adapt, library_of
from trueval.recommenders.given import Function, Scores
from trueval.recommenders.parameters import parameter, parameters_of, show
from trueval.recommenders.protocol import Recommender, TrainSet
from trueval.recommenders.record import System
from trueval.recommenders.training import check_factors, check_train

__all__ = ["System", "cautions_on", "find", "make_system", "name_systems", "parameter", "system", "systems", "text_of"]

# Where each system lives below trueval.recommenders: nothing is imported before it is asked for.
_HOMES = {
    "random": "baselines",
    "popularity": "baselines",
    "average": "baselines",
    "userknn": "neighbours",
    "itemknn": "neighbours",
    "plsa": "plsa",
    "optimal_precision": "optimal",
    "optimal_antiprecision": "optimal",
    "optimal_true": "optimal",
    "puresvd": "factor_models.puresvd",
    "mf_rmse": "factor_models.allrank",
    "allrank": "factor_models.allrank",
    "allrank_pop": "factor_models.allrank",
    "wrmf": "factor_models.from_implicit",
    "bpr": "factor_models.from_implicit",
    "ease": "factor_models.ease",
    "svdpp": "factor_models.svdpp",
}

_RECORDS: dict[str, System] = {}
_TEXT = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[(.*)\])?\s*")
Class = TypeVar("Class", bound=type)


def system(
    name: str,
    *,
    objective: str,
    reference: str,
    needs: str | None = "rows",
    personalised: bool = True,
    oracle: bool = False,
    caution: str = "",
) -> Callable[[Class], Class]:
    """Register a dataclass as a system (see the top of this file)."""

    def register(cls: Class) -> Class:
        record = System(name, cls, objective, reference, parameters_of(cls), needs, personalised, oracle, caution)
        if _HOMES.get(name) is None:
            raise TypeError(f"the system {name} is not in the table of names, registry._HOMES")
        if name in _RECORDS and cls.__qualname__ != _RECORDS[name].make.__qualname__:  # a reload may come again
            raise TypeError(f"two systems are called {name}")
        _check_when_made(cls, record)
        _check_when_fitted(cls, record)
        _RECORDS[name] = record
        return cls

    return register


def _check_when_made(cls: Any, record: System) -> None:
    made = cls.__init__

    @functools.wraps(made)
    def init(self: Any, *given: Any, **parameters: Any) -> None:
        record.check_call(given, parameters)
        made(self, **parameters)
        for declared in record.parameters.values():
            object.__setattr__(self, declared.field, declared.check(getattr(self, declared.field), system=record.name))

    cls.__init__ = init


def _check_when_fitted(cls: Any, record: System) -> None:
    fitted = cls.fit

    @functools.wraps(fitted)
    def fit(self: Any, train: TrainSet) -> Any:
        check_train(train, needs=record.needs, system=record.name)
        check_factors(train, self, name=record.name)
        return fitted(self, train)

    cls.fit = fit


@overload
def systems() -> list[str]: ...
@overload
def systems(name: str) -> System: ...
@checked
def systems(name: str | None = None) -> list[str] | System:
    """List the systems that come with trueval or, with a name, describe one.

    Parameters
    ----------
    name : text, optional
        The system to describe. Default: list the names of all.

    Returns
    -------
    list of text, or System
        The names; or what the system is: objective, needs, parameters with their ranges and defaults, reference.

    Raises
    ------
    TruevalError
        For a name that does not exist.

    Examples
    --------
    >>> "popularity" in systems()
    True
    >>> systems("average")
    average: Mean train rating of an item with a Dirichlet prior.
    <BLANKLINE>
      objective   (Σr + μ·mean) / (n + μ)
      needs       a value column
      lists       the same for everybody
      parameter   mu = 1 (a number, at least 0): ratings that the prior counts as
      reference   Mena-Maldonado et al., Agreement and disagreement between true and false-positive metrics, SIGIR 2020
    """
    return sorted(_HOMES) if name is None else find(name)


def find(name: str) -> System:
    """The record of a system by its name."""
    if name not in _HOMES:
        raise DefinitionError(
            f"unknown system {name!r}", found=f"{name!r}; {suggest(name, _HOMES)}", do="trueval systems lists them"
        )
    importlib.import_module(f"trueval.recommenders.{_HOMES[name]}")
    return _RECORDS[name]


@needs_threads
def make_system(spec: Any, *, test: Any = None, **parameters: Any) -> Recommender:
    """Make a system from its name and parameters, a function, a score matrix, or an object that is one already.

    Parameters
    ----------
    spec : text, function, matrix, model or system
        A name (see `systems`), also with parameters: "average[mu=2]"; a function `users -> scores` (see `Function`); a
        score matrix (see `Scores`); a model of another library (see `adapt`); or an object with `fit` and `score`.
    test : log, optional
        The test part. It is handed to oracles, which may read it, and to no other system.
    **parameters : parameters of the named system
        In place of those in its name.

    Returns
    -------
    Recommender
        A system with `fit(train)` and `score(users)`, not yet fitted.

    Raises
    ------
    TruevalError
        For names, parameters and values that do not exist, and for objects that are not a system.

    Examples
    --------
    >>> make_system("average", mu=2.0)
    Average(mu=2.0)
    >>> make_system("average[mu=2]")
    Average(mu=2.0)
    """
    if isinstance(spec, str):
        record, written = _read(spec)
        record.check(parameters)
        if record.oracle:
            parameters = {"test": test, **parameters}
        fields = {record.parameters[name].field: v for name, v in {**written, **parameters}.items()}
        return cast(Recommender, record.make(**fields))
    if parameters:
        raise DefinitionError(
            "parameters belong to systems given by name", found=", ".join(parameters), do="set them on the object"
        )
    if isinstance(spec, type):
        raise DefinitionError(
            f"{spec.__name__} is a class, not a system", found=repr(spec), do=f"create an instance: {spec.__name__}(…)"
        )
    if library_of(spec) is not None:
        return adapt(spec)
    if hasattr(spec, "fit") and hasattr(spec, "score"):
        return cast(Recommender, spec)
    if isinstance(spec, np.ndarray) or hasattr(spec, "toarray"):
        return Scores(spec)
    if callable(spec):
        return Function(spec)
    raise DefinitionError(
        "this is not a system",
        found=f"{type(spec).__name__}",
        do="give a name, a function users -> scores, a score matrix, or an object with fit(train) and score(users)",
    )


def _read(text: str) -> tuple[System, dict[str, Any]]:
    """A record and parameters from `name[parameter=value, …]`."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise DefinitionError(
            "a system could not be read", found=repr(text), do="write name or name[parameter=value,…]"
        )
    record = find(found[1])
    return record, record.read(found[2] or "")


def record_of(made: Any) -> System | None:
    """The record of a system that was made; None for other people's."""
    return next((record for record in _RECORDS.values() if type(made) is record.make), None)


def cautions_on(name: str, made: Any) -> list[str]:
    """What a reader must know of a system before reading its values.

    >>> cautions_on("best", make_system("optimal_true"))
    ['best is an oracle: it has read the test part, and its values are a bound for other systems']
    """
    record = record_of(made)
    caution = getattr(made, "caution", "") if record is None else record.caution
    oracle = "is an oracle: it has read the test part, and its values are a bound for other systems"
    spoken = isinstance(caution, str) and bool(caution)  # somebody's class may use the name for a number
    return [f"{name} {oracle}"] * (record is not None and record.oracle) + [f"{name}: {caution}"] * spoken


def text_of(made: Any) -> str:
    """The canonical text of a system that was made: its name, and its parameters where they are not the defaults.

    >>> text_of(make_system("average", mu=0.5)), text_of(make_system("average"))
    ('average[mu=0.5]', 'average')
    """
    record = record_of(made)
    if record is None:
        own = [getattr(made, "name", None), getattr(made, "__name__", None), type(made).__name__]
        return next(text for text in own if text and isinstance(text, str))
    values = {name: getattr(made, one.field) for name, one in record.parameters.items() if one.kinds}
    changed = [f"{name}={show(v)}" for name, v in sorted(values.items()) if v != record.parameters[name].default]
    return record.name + (f"[{','.join(changed)}]" if changed else "")


def name_systems(specs: Any) -> dict[str, Any]:
    """Names for the systems of an evaluation; a mapping keeps its own.

    >>> list(name_systems(["random", "average[mu=2.0]"]))
    ['random', 'average[mu=2.0]']
    >>> list(name_systems("random, average[mu=2]"))
    ['random', 'average[mu=2]']
    """
    if isinstance(specs, dict):
        return dict(specs)
    if isinstance(specs, str):
        specs = [part.strip() for part in re.split(r",(?![^\[]*\])", specs) if part.strip()]
    elif not isinstance(specs, (list, tuple)):
        specs = [specs]
    named: dict[str, Any] = {}
    for spec in specs:
        name = spec if isinstance(spec, str) else getattr(spec, "name", None) or getattr(spec, "__name__", "")
        name = name or type(spec).__name__
        if name in named:
            raise DefinitionError(f"two systems are called {name!r}", do="give a mapping from names to systems")
        named[name] = spec
    return named
