"""The metric grammar: `ndcg@10`, `recall@20[cap=true]`, `anti(precision)@10`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from trueval.errors import DefinitionError, pointed, suggest
from trueval.metrics.registry import Metric, find, names
from trueval.metrics.spec import TRANSFORMS, WEIGHTING, Spec

LARGEST_CUTOFF = 100_000_000  # no list is longer, and tables of discounts must fit in memory
MOST_METRICS = 10_000  # in one evaluation

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUE = re.compile(r"[^,\]\[=]+")


def parse(text: str | Spec) -> Spec:
    """Read one metric.

    >>> parse("ndcg@10").k
    10
    """
    if isinstance(text, Spec):
        return text
    if not isinstance(text, str):
        raise DefinitionError("a metric is written as text", found=repr(text)[:60], do="for example ndcg@10")
    return _SpecReader(text).read()


def parse_all(texts: str | Spec | Iterable[str | Spec]) -> list[Spec]:
    """Read several metrics (also "a@5, b@10" in one string); the same one twice is an error."""
    if isinstance(texts, str):
        texts = split_list(texts)
    several: list[Any] = list(texts) if isinstance(texts, Iterable) else [texts]
    if len(several) > MOST_METRICS:
        raise DefinitionError(
            f"at most {MOST_METRICS:,} metrics can be computed at once", found=f"{len(several):,}",
            do="evaluate in several parts",
        )  # fmt: skip
    specs = [parse(text) for text in several]
    for spec in list(specs):  # a weighted value is never reported without the plain one beside it
        if {"ips", "snips"} & set(spec.transforms) and spec.naive not in specs:
            specs.insert(specs.index(spec), spec.naive)
    if not specs:
        raise DefinitionError("no metric was given", do='for example metrics=["ndcg@10"]')
    seen: set[Spec] = set()
    for spec in specs:
        if spec in seen:
            raise DefinitionError(f"the metric {spec} is given twice", do="name each metric once")
        seen.add(spec)
    return specs


def split_list(text: str, *, brackets: str = "[]") -> list[str]:
    """Cut at commas outside brackets: a comma is inside where the next bracket is a closing one.

    >>> split_list("ndcg@10, recall@5[cap=true]")
    ['ndcg@10', 'recall@5[cap=true]']
    """
    end, closing, parts = len(text), False, []
    for found in reversed(list(re.finditer(f"[,{re.escape(brackets)}]", text))):
        if found[0] != ",":
            closing = found[0] == brackets[1]
        elif not closing:
            parts.append(text[found.end() : end])
            end = found.start()
    parts.append(text[:end])
    return [part.strip() for part in reversed(parts) if part.strip()]


class _Given(NamedTuple):
    """A parameter as it was written, and where its name and its value begin."""

    text: str
    name_at: int
    value_at: int


class _Tail(NamedTuple):
    """What follows a name: the cutoff, where its @ is, and the parameters."""

    k: int | None
    k_at: int
    given: dict[str, _Given]


class _SpecReader:
    """Recursive descent over one text; complaints point at the character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def read(self) -> Spec:
        spec = self._metric()
        self._space()
        if self.at < len(self.text):
            raise self._complaint("unexpected text")
        return spec

    def _metric(self) -> Spec:
        begin = self._space()
        name = self._match(_NAME, "a metric name was expected")
        if self._peek("("):
            return self._transformed(name, begin)
        return self._checked(self._named(name, begin), self._tail())

    def _named(self, name: str, begin: int) -> Metric:
        if name not in names():
            raise self._complaint(f"unknown metric {name!r}", do=suggest(name.lower(), names()), at=begin)
        return find(name)

    def _transformed(self, name: str, begin: int) -> Spec:
        if name not in TRANSFORMS:
            raise self._complaint(f"unknown transform {name!r}", do=suggest(name, TRANSFORMS), at=begin)
        self.at += 1
        inner_at = self._space()
        inner_name = self._match(_NAME, "a metric name was expected")
        if self._peek("("):
            raise self._complaint("transforms cannot be nested", at=inner_at)
        metric = self._named(inner_name, inner_at)
        if not metric.transformed:
            raise self._complaint(f"{name}(…) takes an accuracy metric, and {metric.name} is not one", at=inner_at)
        if name == "anti":
            grades = {n for n, p in metric.parameters.items() if p.of_grades}
            metric = replace(metric, parameters={n: p for n, p in metric.parameters.items() if n not in grades})
        else:
            own = WEIGHTING if name == "snips" else {"clip": WEIGHTING["clip"]}
            metric = replace(metric, parameters={**metric.parameters, **own})
        inside = self._tail()
        if not self._peek(")"):
            raise self._complaint("a closing parenthesis was expected")
        self.at += 1
        outside = self._tail()
        if inside.k and outside.k:
            raise self._complaint("the cutoff is given twice", at=outside.k_at)
        for again in inside.given.keys() & outside.given.keys():
            raise self._complaint(f"{again} is given twice", at=outside.given[again].name_at)
        k, k_at = (outside.k, outside.k_at) if outside.k else (inside.k, inside.k_at)
        spec = self._checked(metric, _Tail(k, k_at, {**inside.given, **outside.given}))
        return Spec(spec.metric, spec.k, spec.parameters, (name,), spec.given)

    def _tail(self) -> _Tail:
        """Cutoff and parameters, in either order."""
        k, k_at = None, 0
        given: dict[str, _Given] = {}
        while True:
            self._space()
            if self._peek("@"):
                if k is not None:
                    raise self._complaint("the cutoff is given twice")
                k_at = self.at
                self.at += 1
                k = self._cutoff()
            elif self._peek("["):
                if given:
                    raise self._complaint("the parameters are given twice")
                given = self._parameters()
            else:
                return _Tail(k, k_at, given)

    def _cutoff(self) -> int:
        begin = self.at
        found = re.compile(r"[+-]?[0-9.]+").match(self.text, begin)
        if found is None:
            raise self._complaint("a whole number was expected after @")
        written = found[0] if len(found[0]) <= 40 else f"{found[0][:40]}…"
        digits = found[0].lstrip("0") if re.fullmatch(r"[0-9]+", found[0]) else ""
        if not digits:
            raise self._complaint(f"the cutoff must be a whole number of at least 1, not {written}")
        if len(digits) > len(str(LARGEST_CUTOFF)) or int(digits) > LARGEST_CUTOFF:
            raise self._complaint(f"the cutoff must be at most {LARGEST_CUTOFF:,}, not {written}")
        self.at = found.end()
        return int(digits)

    def _parameters(self) -> dict[str, _Given]:
        self.at += 1
        given: dict[str, _Given] = {}
        while True:
            name_at = self._space()
            name = self._match(_NAME, "a parameter name was expected")
            if name in given:
                raise self._complaint(f"{name} is given twice", at=name_at)
            self._space()
            if not self._peek("="):
                raise self._complaint(f"{name}=value was expected")
            self.at += 1
            value_at = self._space()
            given[name] = _Given(self._match(_VALUE, f"a value for {name} was expected").strip(), name_at, value_at)
            if self._peek("]"):
                self.at += 1
                return given
            if not self._peek(","):
                raise self._complaint("a comma or a closing bracket was expected")
            self.at += 1

    def _checked(self, metric: Metric, tail: _Tail) -> Spec:
        values = {name: parameter.default for name, parameter in metric.parameters.items()}
        for name, written in tail.given.items():
            if name not in metric.parameters:
                do = suggest(name, metric.parameters) if metric.parameters else "leave it out: it has none"
                if name in find(metric.name).parameters:
                    do = "leave it out: with relevance flipped, every item counts 1"
                own = f"anti({metric.name})" if name in find(metric.name).parameters else metric.name
                raise self._complaint(f"{own} has no parameter {name!r}", do=do, at=written.name_at)
            try:
                values[name] = metric.parameters[name].read(written.text, name=name, metric=metric.name)
            except DefinitionError as wrong:
                raise self._complaint(wrong.what, found=wrong.found, do=wrong.do, at=written.value_at) from None
            if values[name] == "k" and tail.k is None:
                raise self._complaint(f"{name}=k of {metric.name} needs a cutoff", at=written.value_at)
        options = metric.options(values, cut=tail.k is not None)
        for name, written in tail.given.items():
            idle = metric.parameters[name].idle
            reason = idle(options) if idle is not None and values[name] != metric.parameters[name].default else ""
            if reason:
                raise self._complaint(
                    f"{name} of {metric.name} changes nothing here", found=reason, do="leave it out", at=written.name_at
                )
        if metric.cutoff == "required" and tail.k is None:
            raise self._complaint(f"{metric.name} needs a cutoff", do=f"for example {metric.name}@10")
        if metric.cutoff == "none" and tail.k is not None:
            raise self._complaint(f"{metric.name} has no cutoff", do=f"write {metric.name}", at=tail.k_at)
        return Spec(metric, tail.k, values, given=frozenset(tail.given))

    def _space(self) -> int:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.at

    def _peek(self, character: str) -> bool:
        return self.text[self.at : self.at + 1] == character

    def _match(self, pattern: re.Pattern[str], complaint: str) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self._complaint(complaint)
        self.at = found.end()
        return found[0]

    def _complaint(self, what: str, *, found: str = "", do: str = "", at: int | None = None) -> DefinitionError:
        return DefinitionError(what, where=pointed(self.text, self.at if at is None else at), found=found, do=do)
