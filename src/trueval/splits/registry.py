"""One record per split: `tv.split`, the command line, experiment files, the leakage audit and shared tests read it."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from trueval.errors import DefinitionError, suggest
from trueval.splits.options import Option

if TYPE_CHECKING:
    from trueval.splits.parts import Parts

How = Mapping[str, Any]  # `Parts.how`: the split's name and all its options
KINDS = ("chance", "time", "tables")
# What the leakage audit looks for in time, and a split may promise not to have.
FUTURES = ("own_future", "global_future", "early_items")
# Where no one number is the chance that a row was tested.
BY_USER = "by user"  # a whole number of each user's rows was drawn
BY_ITEM = "by item"  # a whole number of each candidate item's rows was drawn
BY_PAIR = "by pair"  # one side is a random sample, beside a biased log
_Made = TypeVar("_Made", bound="Callable[..., Parts | list[Parts]]")


@dataclass(frozen=True)
class Split:
    """A registered split."""

    name: str
    function: Callable[..., Parts | list[Parts]]
    by: str  # "chance", "time" or "tables" that the user already has
    options: Mapping[str, Option]
    several: str  # what each of its several parts is called ("fold"); "" where it makes one
    promises: Callable[[How], tuple[str, ...]]  # which of FUTURES it does not have
    strict: bool  # all rows of one moment are on one side of the cut
    chance: Callable[[How], float | str | None]  # that a row was put into test: a number, BY_…, None where unknown
    outside: Callable[[How], float]  # the chance, where it is a number, that a row was not put into its user's train
    uniform: bool  # every candidate item has the same number of test ratings
    pair: str  # the option that is a table which the log's own data set may hold
    carved: tuple[str, tuple[str, ...]]  # the split of train into train and validation, and the options they share

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    @property
    def seeded(self) -> bool:
        """Whether a seed decides anything."""
        return "seed" in inspect.signature(self.function).parameters

    @property
    def tables(self) -> tuple[str, ...]:
        """Options that are tables: of data that are already split."""
        return tuple(name for name, option in self.options.items() if option.table)

    @property
    def of_one_log(self) -> bool:
        """Whether one log, or the data set that it is part of, is all that it needs."""
        return set(self.tables) <= {self.pair}

    @property
    def required(self) -> tuple[str, ...]:
        """Options that must be given."""
        parameters = inspect.signature(self.function).parameters
        return tuple(name for name in self.options if parameters[name].default is inspect.Parameter.empty)


_SPLITS: dict[str, Split] = {}


def split(
    *,
    by: str,
    options: Mapping[str, Option],
    several: str = "",
    promises: tuple[str, ...] | Callable[[How], tuple[str, ...]] = (),
    strict: bool = False,
    chance: Callable[[How], float | str | None] | None = None,
    outside: Callable[[How], float] | None = None,
    uniform: bool = False,
    pair: str = "",
    carved: tuple[str, tuple[str, ...]] = ("holdout", ()),
) -> Callable[[_Made], _Made]:
    """Register a split: a function of a log and options, which makes parts by `assemble`.

    The function's parameters after the log are its options, and `seed` where chance decides. Each option is declared
    by one of `share`, `count`, `choice`, `number`, `moment` and `table` of `splits.options`, which checks it before the
    function is called, and says what it is on the command line.
    """

    def register(function: _Made) -> _Made:
        name = function.__name__
        own = list(inspect.signature(function).parameters.values())[1:]
        names = [parameter.name for parameter in own if parameter.name != "seed"]
        if names != list(options):
            raise TypeError(f"{name}: the parameters {names} are not its options {list(options)}")
        promised = promises if callable(promises) else lambda how: promises
        if by not in KINDS or not set(promised({})) <= set(FUTURES):
            raise TypeError(f"{name}: by must be one of {KINDS}, promises among {FUTURES}")
        if several and carved[0] == name:
            raise TypeError(f"{name}: a validation part is one part, and this split makes several")
        optional = {parameter.name for parameter in own if "None" in str(parameter.annotation)}

        @functools.wraps(function)
        def checked(*tables: Any, **given: Any) -> Parts | list[Parts]:
            for option, value in given.items():
                if option in options and (value is not None or option not in optional):
                    given[option] = options[option].read(option, value, split=name)
            return function(*tables, **given)

        if name in _SPLITS:
            raise TypeError(f"two splits are called {name}")
        tested = chance or (lambda how: None)
        held_out = outside or (lambda how: float(tested(how) or 0) + float(how.get("validation") or 0))
        _SPLITS[name] = Split(
            name, checked, by, dict(options), several, promised, strict, tested, held_out, uniform, pair, carved
        )
        return checked  # type: ignore[return-value]

    return register


@functools.cache
def _load() -> None:
    """Import every file of the folder: a new split is a new file and nothing else."""
    folder = importlib.import_module("trueval.splits")
    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")


def all_splits() -> dict[str, Split]:
    """All splits by name: by chance, by time, and of tables that the user has.

    >>> [name for name, record in all_splits().items() if record.several]
    ['kfold', 'rolling']
    """
    _load()
    return dict(sorted(_SPLITS.items(), key=lambda entry: (KINDS.index(entry[1].by), entry[0])))


def find_split(how: object) -> Split:
    """A split by name.

    >>> find_split("temporal").promises({})
    ('own_future', 'global_future', 'early_items')
    """
    known = all_splits()
    if isinstance(how, str) and how in known:
        return known[how]
    raise DefinitionError(f"there is no split {how!r}", where="split", found=repr(how), do=suggest(str(how), known))


def split_of(how: How) -> Split | None:
    """The record of the split that made some parts; None where they come from elsewhere.

    >>> split_of({"how": "by hand"}) is None
    True
    """
    return all_splits().get(str(how.get("how")))
