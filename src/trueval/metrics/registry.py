"""One record per metric: parser, command line, documentation, labels and shared tests all read it."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from trueval.errors import DefinitionError, suggest
from trueval.metrics.families import FAMILIES

# How equal scores concern a metric, and with that what ties=expected, worst and best can do; see `metric`.
TIES = ("judged", "linear", "anyone", "set", "order", "relevant order", "none")
# What a unit must have among the items of a group for a metric to be defined there; "" where it never is.
LOOKS_FOR = ("relevant", "not relevant", "judged", "")
# What a metric finding that a report says in a sentence of its own; "" for none.
FINDINGS = ("never judged", "catalogue shown", "")
# Words of a formula, or what makes them of the options (see `Metric.options`).
Wording = str | Callable[[Mapping[str, Any]], str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a metric: its default and what else it may be."""

    default: Any
    choices: tuple[Any, ...] = ()
    low: float = float("-inf")
    high: float = float("inf")
    meaning: str = ""
    quiet: bool = False  # at its default it changes nothing, and definitions leave it out
    of_grades: bool = False  # how grades count: anti(…), of which every item counts 1, does not have it
    idle: Callable[[Mapping[str, Any]], str] | None = None  # why it changes nothing beside these options; "" if it does

    def read(self, text: str, *, name: str, metric: str) -> Any:
        """A value from its text, checked."""
        value: Any = text
        if isinstance(self.default, bool) or any(isinstance(c, bool) for c in self.choices):
            value = {"true": True, "false": False}.get(text.lower(), text)
        elif isinstance(self.default, (int, float)):
            try:
                value = float(text)
            except ValueError:
                raise DefinitionError(f"{name} of {metric} must be a number", found=repr(text)) from None
        if self.choices and value not in self.choices:
            choices = [show_value(choice) for choice in self.choices]
            raise DefinitionError(f"{name} of {metric} cannot be {text!r}", do=suggest(text, choices))
        if isinstance(value, float) and not (self.low <= value <= self.high and math.isfinite(value)):
            raise DefinitionError(f"{name} of {metric} must be {self.allowed}", found=text[:60])
        return value

    @property
    def allowed(self) -> str:
        """Which numbers it may be, in words."""
        if math.isfinite(self.high):
            return f"from {self.low:g} to {self.high:g}"
        return f"a finite number from {self.low:g} on" if math.isfinite(self.low) else "a finite number"


@dataclass(frozen=True)
class Metric:
    """A registered metric."""

    name: str
    function: Callable[..., Any]
    family: str
    wording: Wording
    range: tuple[float, float]
    better: str  # "higher", "lower" or "neither"
    cutoff: str  # "required", "optional" or "none"
    parameters: Mapping[str, Parameter]
    needs: tuple[str, ...]
    wants: tuple[str, ...]
    undefined: str
    reference: str
    aliases: tuple[str, ...] = ()
    system: bool = False  # one value for the whole system, from mergeable counts
    exact: bool = False  # needs ranks behind the list
    by_set: bool = False  # looks at which items are within k, not at their order
    condensed: bool = False  # whether its formula is another one on condensed rankings
    terms: Callable[..., Any] | None = None  # the metric taken apart, where it is additive (see terms.py)
    amount: Wording = ""  # what its terms are, in words: what each hit adds
    no_chance: str = ""  # why its expected value for a random ranking is not computed; "" where it is
    ties: str | Callable[[Mapping[str, Any]], str] = "order"  # how equal scores concern it, by its parameters
    one_relevant: bool | Callable[[Mapping[str, Any]], bool] = (
        False  # has a meaning where one relevant item is ranked (1R)
    )
    looks_for: str = ""  # what a unit must have among the items of a group, to have a value there (see LOOKS_FOR)
    transformed: bool = False  # anti(…), ips(…) and snips(…) take it
    plain_sum: bool = False  # its terms are added up and not divided by the number of relevant items, so that ips is
    greedy_ideal: bool = False  # the ideal that it is a share of is a greedy one, which a list may beat
    finding: str = ""  # what a report says of it in a sentence of its own (see FINDINGS)

    @property
    def formula(self) -> str:
        """The formula, by its defaults."""
        return self.formula_with({})

    def formula_with(
        self, parameters: Mapping[str, Any], *, cut: bool | None = None, condensed: bool = False, flipped: bool = False
    ) -> str:
        """The formula with these parameters, with a cutoff or without one, on condensed rankings or not, and where
        every item counts 1 (`flipped`)."""
        return _words(self.wording, self.options(parameters, cut=cut, condensed=condensed, flipped=flipped))

    def options(
        self, parameters: Mapping[str, Any], *, cut: bool | None = None, condensed: bool = False, flipped: bool = False
    ) -> dict[str, Any]:
        """What words of a formula depend on: see `formula_with`."""
        defaults = {name: parameter.default for name, parameter in self.parameters.items()}
        known = {**defaults, **parameters, "condensed": condensed, "flipped": flipped}
        if flipped:
            known |= {name: "binary" for name, parameter in self.parameters.items() if parameter.of_grades}
        return known | {"k": self.cutoff != "none" if cut is None else cut}

    def amount_with(self, parameters: Mapping[str, Any], *, cut: bool) -> str:
        """What each hit adds, in words, where the metric is additive."""
        return _words(self.amount, self.options(parameters, cut=cut))

    @property
    def summary(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    @property
    def measures(self) -> str:
        """The side of a trade-off that it stands for: "accuracy", "beyond", or neither."""
        return FAMILIES[self.family].measures

    @property
    def of_ratings(self) -> bool:
        """Whether it compares predicted ratings with ratings, and ranks nothing."""
        return FAMILIES[self.family].of_ratings

    @property
    def of_lists(self) -> bool:
        """Whether it looks at lists alone, and not at relevant items that are missing from them."""
        return FAMILIES[self.family].of_lists

    def parameter(self, name: str) -> Parameter:
        """A parameter by name."""
        if name not in self.parameters:
            raise DefinitionError(f"{self.name} has no parameter {name!r}", do=suggest(name, self.parameters))
        return self.parameters[name]

    def has_meaning_in_1r(self, parameters: Mapping[str, Any]) -> bool:
        """Whether it can be measured where each relevant item is ranked alone (1R), with these parameters."""
        return self.one_relevant(parameters) if callable(self.one_relevant) else self.one_relevant

    def show(self, parameters: Mapping[str, Any]) -> str:
        """Parameters in canonical form: sorted, defaults left out."""
        changed = {k: v for k, v in parameters.items() if v != self.parameters[k].default}
        return "[" + ",".join(f"{k}={show_value(changed[k])}" for k in sorted(changed)) + "]" if changed else ""


_METRICS: dict[str, Metric] = {}


def _words(wording: Wording, options: Mapping[str, Any]) -> str:
    return wording(options) if callable(wording) else wording


def metric(
    *,
    family: str,
    formula: Wording,
    range: tuple[float, float],
    better: str = "higher",
    cutoff: str = "required",
    parameters: Mapping[str, Parameter] | None = None,
    needs: tuple[str, ...] = (),
    wants: tuple[str, ...] = (),
    undefined: str = "never",
    reference: str,
    aliases: tuple[str, ...] = (),
    system: bool = False,
    exact: bool = False,
    by_set: bool = False,
    condensed: bool = False,
    terms: Callable[..., Any] | None = None,
    amount: Wording = "",
    name: str | None = None,
    ties: str | Callable[[Mapping[str, Any]], str] | None = None,
    one_relevant: bool | Callable[[Mapping[str, Any]], bool] | None = None,
    looks_for: str | None = None,
    transformed: bool | None = None,
    plain_sum: bool = False,
    greedy_ideal: bool = False,
    finding: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a metric.

    The function is called with the facts, the cutoff, and as keywords its parameters and the inputs named in
    `needs` (always there) and `wants` (None where nobody gave them). It returns one value per unit, a `Ratio`,
    or for system metrics a `Tally`.

    `ties` says how equal scores concern the metric (a word, or a function from its parameters to one), so that every
    tie rule means what it says or is refused where it matters:

    - "judged": it is worked out from the judged items alone, under every rule;
    - "linear": a sum over places of what the item there is worth, made by `metrics.list_sums.place_sum`;
    - "anyone": from which items are recommended to anyone, made by `metrics.list_sums.recommended_to_anyone`: no exact
      worst and best;
    - "set", "order", "relevant order": any other function of which items are within the cutoff, of their order, or of
      that of the relevant ones: no exact value where equals leave it open;
    - "none": equal scores make no difference to it.

    `formula` says what is computed with the options at hand: text, or a function from the options to text, so that no
    formula is printed that an option overrules (`metrics.wording` has the parts that formulas share).

    What is None here is that of the metric's family (`families.FAMILIES`).
    """
    common = FAMILIES[family]

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        label = name or function.__name__
        keywords = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
        if keywords != set(parameters or {}) | set(needs) | set(wants):
            raise TypeError(f"{label}: keywords {sorted(keywords)} are not its parameters and inputs")
        concern = ties or common.ties
        if concern == "linear" and better == "lower":
            raise TypeError(f"{label}: a linear metric needs better=higher or better=neither")
        if isinstance(concern, str) and concern not in TIES:
            raise TypeError(f"{label}: ties must be one of {', '.join(TIES)}")
        sought = "" if system else common.looks_for if looks_for is None else looks_for
        if sought not in LOOKS_FOR or finding not in FINDINGS:
            raise TypeError(f"{label}: looks_for must be one of {LOOKS_FOR}, finding one of {FINDINGS}")
        no_chance = common.no_chance or ("one value for all users" if system else "")
        entry = Metric(
            label, function, family, formula, range, better, cutoff, dict(parameters or {}), needs, wants, undefined,
            reference, aliases, system, exact, by_set, condensed, terms, amount, no_chance, concern,
            common.one_relevant if one_relevant is None else one_relevant, sought,
            common.transformed if transformed is None else transformed, plain_sum, greedy_ideal, finding,
        )  # fmt: skip
        for known in (label, *aliases):
            if known in _METRICS:
                raise TypeError(f"two metrics are called {known}")
            _METRICS[known] = entry
        return function

    return register


@cache
def _load() -> None:
    """Import every file of every family: a new metric is a new file and nothing else."""
    package = importlib.import_module("trueval.metrics")
    for family in FAMILIES:
        folder = importlib.import_module(f"{package.__name__}.{family}")
        for module in pkgutil.iter_modules(folder.__path__):
            importlib.import_module(f"{folder.__name__}.{module.name}")


def find(name: str) -> Metric:
    """A metric by its name or alias."""
    _load()
    if name not in _METRICS:
        raise DefinitionError(
            f"unknown metric {name!r}", do=f"{suggest(name, _METRICS)}; trueval metrics lists them all"
        )
    return _METRICS[name]


def all_metrics() -> list[Metric]:
    """All metrics, by family and name."""
    _load()
    order = list(FAMILIES)
    return sorted({id(m): m for m in _METRICS.values()}.values(), key=lambda m: (order.index(m.family), m.name))


def names() -> list[str]:
    """All names and aliases."""
    _load()
    return sorted(_METRICS)


def show_value(value: Any) -> str:
    """A value of a parameter as it is written in a metric."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)  # identities keep every digit
    return str(value)
