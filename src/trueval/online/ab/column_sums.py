"""Sums of columns: `yes+no`, `price-(discount+refund)`. Read by a small parser; nothing is ever evaluated as code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from trueval.errors import DefinitionError, pointed

Term = tuple[int, str]  # +1 or -1, and a column

_DEEPEST = 100  # brackets within brackets
_NAME = re.compile(r"[^\s+\-()/*=,:]+(?: [^\s+\-()/*=,:]+)*")


def read_sum(text: str, columns: Iterable[str]) -> list[Term]:
    """The columns of a sum with their signs. A text that is a column by itself is that column, whatever its name.

    >>> read_sum("yes + no", ["yes", "no"])
    [(1, 'yes'), (1, 'no')]
    >>> read_sum("a-(b-c)", ["a", "b", "c"])
    [(1, 'a'), (-1, 'b'), (1, 'c')]
    >>> read_sum("add-ons - refunds", ["add-ons", "refunds"])
    [(1, 'add-ons'), (-1, 'refunds')]
    """
    known = list(columns)
    if text in known:
        return [(1, text)]
    # The longest name first: of "add" and "add-ons", "add-ons" is meant where it is written.
    return _SumReader(text, sorted(known, key=len, reverse=True)).read()


def is_bracketed(text: str) -> bool:
    """Whether one pair of brackets holds the whole text.

    >>> is_bracketed("(a+b)"), is_bracketed("(a)+(b)"), is_bracketed("a+b")
    (True, False, False)
    """
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place < len(text) - 1:
            return False
    return text.startswith("(")


class _SumReader:
    def __init__(self, text: str, known: Sequence[str]) -> None:
        self.text, self.known, self.at, self.depth = text, known, 0, 0

    def read(self) -> list[Term]:
        terms = self._sum(1)
        if self.at < len(self.text):
            raise self._complaint("unexpected text")
        return terms

    def _sum(self, sign: int) -> list[Term]:
        terms = self._operand(sign if self._take("+-") != "-" else -sign)
        while operator := self._take("+-"):
            terms += self._operand(sign if operator == "+" else -sign)
        return terms

    def _operand(self, sign: int) -> list[Term]:
        if self._take("("):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self._complaint(f"more than {_DEEPEST} brackets within each other")
            terms = self._sum(sign)
            if not self._take(")"):
                raise self._complaint("a closing bracket was expected")
            self.depth -= 1
            return terms
        return [(sign, self._name())]

    def _name(self) -> str:
        for name in self.known:
            end = self.at + len(name)
            if self.text.startswith(name, self.at) and (end == len(self.text) or self.text[end] in " \t+-()"):
                self.at = end
                return name
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise self._complaint("a column was expected")
        self.at = found.end()
        return found[0]

    def _take(self, characters: str) -> str:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        taken = self.text[self.at : self.at + 1]
        if not taken or taken not in characters:
            return ""
        self.at += 1
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        return taken

    def _complaint(self, what: str) -> DefinitionError:
        return DefinitionError(
            f"{what} in a sum of columns", where=pointed(self.text, self.at),
            found="columns " + ", ".join(sorted(self.known)), do="write columns with +, - and brackets: yes/(yes+no)",
        )  # fmt: skip
