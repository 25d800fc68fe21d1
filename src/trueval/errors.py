"""Errors of trueval: what is wrong, where, what was found, what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

# What a terminal obeys or hides in place of showing it: control characters (but tabs and ends of lines), marks that
# turn the direction of text, characters without width, and halves of characters, which cannot be printed at all.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Text for people, with the characters that a terminal would obey or hide written out.

    Names and ids come from files, and a file may be anybody's. All that is printed for people goes through here; data
    in files stay as they are.

    >>> visible("\x1b[31mred\r")
    '\\x1b[31mred\\r'
    """
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class TruevalError(ValueError):
    """An input that cannot be evaluated honestly; every error of trueval is one, and a `ValueError`.

    Every message has up to four parts, so that a reader never has to guess the remedy.

    Attributes
    ----------
    what : text
        What is wrong.
    where : text
        The file, table, column or option, where there is one.
    found : text
        What was found there.
    do : text
        What to do.

    Examples
    --------
    >>> print(TruevalError("the file is empty", where="recs.csv", found="0 rows", do="check the export"))
    the file is empty
      where: recs.csv
      found: 0 rows
      do:    check the export
    """

    def __init__(self, what: str, *, where: str = "", found: str = "", do: str = "") -> None:
        what, where, found, do = map(_bounded, (what, where, found, do))
        self.what, self.where, self.found, self.do = what, where, found, do
        parts = [("where: ", where), ("found: ", found), ("do:    ", do)]
        indent = "\n" + " " * 9
        lines = [what, *(f"  {k}{v.replace(chr(10), indent)}" for k, v in parts if v)]
        super().__init__(visible("\n".join(lines)))


_MOST_TEXT = 4000


def _bounded(text: str) -> str:
    """A part of a message, which may quote a cell or a header of any length.

    >>> len(_bounded("a" * 10**6)), _bounded("a" * 10**6)[-22:]
    (4023, '… (1000000 characters)')
    """
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} … ({len(text)} characters)"


class DataError(TruevalError):
    """A table, file or array that cannot be used as it is."""


class DefinitionError(TruevalError):
    """A metric, design, split or option that does not exist or does not make sense."""


class OutputError(TruevalError):
    """A result that could not be written; nothing is left half written."""


def defect(what: str, *, where: str = "", found: str = "") -> TruevalError:
    """An error for a state that no input should lead to.

    >>> print(defect("a share above 1", where="hit@1", found="2.0"))
    a share above 1
      where: hit@1
      found: 2.0
      do:    please report this: it is a defect of trueval
    """
    return TruevalError(what, where=where, found=found, do="please report this: it is a defect of trueval")


def suggest(name: object, known: Iterable[object], *, most: int = 3) -> str:
    """A hint for a name that does not exist: similar names, or all names.

    >>> suggest("ndgc", ["ndcg", "precision"])
    'did you mean ndcg?'
    >>> suggest("zzz", ["ndcg", "precision"])
    'available: ndcg, precision'
    """
    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(name), known, n=most, cutoff=0.55)
    return f"did you mean {', '.join(close)}?" if close else "available: " + ", ".join(known)


def rows_found(rows: Sequence[object], total: int, *, most: int = 5) -> str:
    """Up to five offending rows and how many there are in all.

    >>> print(rows_found(["user 1, item 2"], 12))
    12 rows, among them:
    user 1, item 2
    """
    listed = "\n".join(str(row) for row in list(rows)[:most])
    noun = "row" if total == 1 else "rows"
    return f"{total:,} {noun}{', among them' if total > len(rows[:most]) else ''}:\n{listed}"
