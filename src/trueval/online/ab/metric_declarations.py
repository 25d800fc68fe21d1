"""What an A/B test compares: `ctr=clicks/impressions`, `conversion=converted`, `dwell:median=seconds`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trueval.errors import DefinitionError, pointed, suggest
from trueval.metrics.grammar import split_list

# What each kind computes; the number in brackets, where there is one, has this default.
MEANINGS = {
    "conversion": "share of users",
    "mean": "mean over users",
    "trimmed": "mean over users without the lowest and the highest {:.3g} % of them",
    "median": "median over users",
    "quantile": "{:.3g} quantile over users",
    "mannwhitney": "probability that a user of the arm is above one of the control, minus the probability of being "
    "below; the values are medians",
    "ratio": "sum over users divided by sum over users",
    "bootstrap": "sum over users divided by sum over users",
    "per_user": "mean over all users, including those with 0",
    "payers": "share of users whose value is not 0",
    "per_payer": "mean over users whose value is not 0; payers may be different kinds of users in each arm",
}
METHODS = {
    "conversion": "score test, Newcombe's interval of the difference, Wilson's of the shares",
    "mean": "Welch's t-test",
    "trimmed": "Yuen's test",
    "median": "bootstrap over users",
    "quantile": "bootstrap over users",
    "mannwhitney": "Mann–Whitney test; interval of Brunner and Munzel",
    "ratio": "delta method by user",
    "bootstrap": "bootstrap over users",
    "per_user": "Welch's t-test with the degrees of freedom of the payers, log scale for single arms",
    "payers": "score test, Newcombe's interval of the difference, Wilson's of the shares",
    "per_payer": "Welch's t-test over payers, log scale for single arms",
}
KINDS = tuple(MEANINGS)
DEFAULTS = {"trimmed": 0.1, "quantile": 0.5}
SHARES = ("conversion", "payers")
LINEAR = (
    *SHARES,
    "mean",
    "trimmed",
    "ratio",
    "per_user",
    "per_payer",
)  # estimates that are asymptotically a mean over users

_NAME = re.compile(r"[^\s:=,/()]+(?: [^\s:=,/()]+)*")
_NUMBER = re.compile(r"[0-9.eE+-]+")


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """A metric: its name, what is computed (empty: decided by the values), and from which columns or sums of them."""

    name: str
    kind: str
    column: str
    below: str = ""
    parameter: float | None = None

    def __str__(self) -> str:
        number = "" if self.parameter is None else f"({self.parameter:g})"
        kind = f":{self.kind}{number}" if self.kind else ""
        return f"{self.name}{kind}={self.column}" + (f"/{self.below}" if self.below else "")

    def definition(self, *, adjusted: bool = False, sequential: bool = False) -> str:
        """What the numbers are, and how they were tested."""
        scale = 100 if self.kind == "trimmed" else 1
        meaning = MEANINGS[self.kind].format(scale * (self.parameter or 0))
        source = f"{self.column} / {self.below}" if self.below else self.column
        adjusted = adjusted and self.kind in LINEAR
        method = METHODS["mean" if adjusted and self.kind in SHARES else self.kind]
        method = "standard errors by user" if sequential else method
        method += ", adjusted by CUPED" if adjusted else ""
        return ("" if source == self.name else f"{source}, ") + f"{meaning}; {method}"


def parse_metrics(metrics: str | Iterable[str] | Mapping[str, str]) -> list[DeclaredMetric]:
    """Read metrics from one text, several, or a mapping of names to columns.

    >>> [str(metric) for metric in parse_metrics("ctr=clicks/impressions, dwell:quantile(0.9)=seconds, bought")]
    ['ctr:ratio=clicks/impressions', 'dwell:quantile(0.9)=seconds', 'bought=bought']
    >>> str(parse_metrics("approval=yes/(yes+no)")[0])
    'approval:ratio=yes/(yes+no)'
    """
    if isinstance(metrics, Mapping):
        texts = [f"{name}={column}" for name, column in metrics.items()]
    elif isinstance(metrics, str):
        texts = split_list(metrics, brackets="()")
    else:
        texts = list(metrics)
    found = [_DeclarationReader(text.strip()).read() for text in texts if text.strip()]
    if not found:
        raise DefinitionError("no metric was given", do='for example metrics="ctr=clicks/impressions"')
    check_names(found)
    return found


def check_names(metrics: Sequence[DeclaredMetric]) -> None:
    """Refuse two metrics of the same name."""
    seen: set[str] = set()
    doubled = next((metric.name for metric in metrics if metric.name in seen or seen.add(metric.name)), None)  # type: ignore[func-returns-value]
    if doubled is not None:
        raise DefinitionError(
            f"two metrics have the name {doubled!r}", where="metrics", do=f"rename one: {doubled}2:median=…"
        )


class _DeclarationReader:
    """One metric, from left to right; complaints point at the character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def read(self) -> DeclaredMetric:
        name = self._match(_NAME, "a name was expected")
        kind, parameter, kind_at = "", None, 0
        if self._take(":"):
            kind_at = self.at
            kind, parameter = self._kind()
        column, below = name, ""
        if self._take("="):
            column = self._side("a column was expected")
            if self._take("/"):
                below = self._side("a column was expected after /")
        if self.at < len(self.text):
            raise self._complaint("unexpected text", do="write name:kind=column or name=column/column")
        if below and kind not in ("", "ratio", "bootstrap"):
            raise self._complaint(f"{kind} takes one column", do=f"write {name}={column}/{below}", at=kind_at)
        if kind in ("ratio", "bootstrap") and not below:
            do = f"write {name}:{kind}={column}/impressions"
            raise self._complaint(f"{kind} takes two columns, clicks/impressions", do=do, at=kind_at)
        return DeclaredMetric(name, kind or ("ratio" if below else ""), column, below, parameter)

    def _side(self, complaint: str) -> str:
        """A column, or a sum of columns that is read when the columns of the table are known."""
        begin, depth = self.at, 0
        while self.at < len(self.text) and (depth or self.text[self.at] not in "/=:,)"):
            depth += (self.text[self.at] == "(") - (self.text[self.at] == ")")
            self.at += 1
        if depth:
            raise self._complaint("a closing bracket was expected")
        side = self.text[begin : self.at].strip()
        if not side:
            raise self._complaint(complaint, do="write name:kind=column or name=column/column", at=begin)
        return side

    def _kind(self) -> tuple[str, float | None]:
        begin = self.at
        kind = self._match(re.compile(r"[A-Za-z_]+"), "a kind of metric was expected after :")
        if kind not in KINDS:
            raise self._complaint(f"unknown kind of metric {kind!r}", do=suggest(kind, KINDS), at=begin)
        parameter = DEFAULTS.get(kind)
        if self._take("("):
            begin = self.at
            text = self._match(_NUMBER, "a number was expected")
            if parameter is None:
                raise self._complaint(f"{kind} takes no number", at=begin)
            parameter = self._between(text, begin, top=0.5 if kind == "trimmed" else 1.0)
            if not self._take(")"):
                raise self._complaint("a closing bracket was expected")
        return kind, parameter

    def _between(self, text: str, begin: int, *, top: float) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 < number < top:
            raise self._complaint(f"expected a number between 0 and {top:g}, not {text}", at=begin)
        return number

    def _take(self, character: str) -> bool:
        self._space()
        taken = self.text[self.at : self.at + 1] == character
        self.at += taken
        self._space()
        return taken

    def _space(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _match(self, pattern: re.Pattern[str], complaint: str) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self._complaint(complaint, do="write name:kind=column or name=column/column")
        self.at = found.end()
        return found[0]

    def _complaint(self, what: str, *, found: str = "", do: str = "", at: int | None = None) -> DefinitionError:
        return DefinitionError(what, where=pointed(self.text, self.at if at is None else at), found=found, do=do)
