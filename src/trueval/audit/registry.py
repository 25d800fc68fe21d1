"""One record per check: the audit, the command line and the tests read it. A new check is a new file in `checks`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from trueval.audit.finding import HEADINGS, KINDS, Draft, Finding
from trueval.render.statements import Statement

if TYPE_CHECKING:
    from trueval.audit.case import Case

Found = Finding | Draft
# What a check may need, what is missing where it is not there, and how to supply it.
NEEDS = {
    "parts": ("train and test together", "--train FILE --test FILE"),
    "systems": ("recommendations or systems", "--recs FILE… (systems=… in Python)"),
    "pairs": ("two systems or more", "--recs FILE FILE… (systems=[…] in Python)"),
    "facts": ("the ranks behind the values", "audit the lists or the systems themselves"),
    "chance": ("the number of items that could have been recommended", "--items FILE"),
    "popularity": ("the popularity baseline", "--train FILE; in a result, popularity beside the systems"),
    "ratings": ("ratings of train that users like and others that they do not", "--train FILE --threshold VALUE"),
    "unbiased": (
        "a test set of items drawn at random, not chosen by users or by a recommender", "--unbiased FILE",
    ),
    "validation": ("the validation set on which parameters were chosen", "--validation FILE"),
    "groups": ("groups of users", "--users FILE --by COLUMN"),
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """A registered check. `question` is what it answers, and what is said where `needs` are missing.

    A `view` looks at the same data in another way and has no verdict on the numbers: it is made when somebody looks.
    """

    name: str
    heading: str
    kind: str
    question: str
    needs: tuple[str, ...]
    function: Callable[[Case], Iterable[Found]]
    view: bool = False


_CHECKS: dict[str, Check] = {}


def check(
    *, heading: str, kind: str, question: str, needs: tuple[str, ...] = (), view: bool = False
) -> Callable[[Callable[[Case], Iterable[Found]]], Callable[[Case], Iterable[Found]]]:
    """Register a check: a function of the case that gives findings, or drafts of them where it tests something.

    Its name is that of the function, and of the findings that it makes.
    """

    def register(function: Callable[[Case], Iterable[Found]]) -> Callable[[Case], Iterable[Found]]:
        name = function.__name__
        unknown = [need for need in needs if need not in NEEDS]
        if unknown or heading not in HEADINGS or kind not in KINDS:
            raise TypeError(f"{name}: unknown heading, kind or need: {heading}, {kind}, {', '.join(unknown)}")
        if name in _CHECKS and _CHECKS[name].function.__module__ != function.__module__:
            raise TypeError(f"two checks are called {name}")
        _CHECKS[name] = Check(name, heading, kind, question, needs, function, view)
        return function

    return register


@cache
def _load() -> None:
    """Import every file of `checks`."""
    package = importlib.import_module("trueval.audit.checks")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def all_checks() -> list[Check]:
    """All checks, by heading and name.

    >>> [check.name for check in all_checks() if check.heading == "leakage"]
    ['future_rows', 'item_future', 'leaked_pairs', 'tuned_on_test', 'twin_items']
    """
    _load()
    return sorted(_CHECKS.values(), key=lambda check: (HEADINGS.index(check.heading), check.name))


def missing_need(check: Check, there: Iterable[str]) -> Finding | None:
    """What is said where something is not there that a check needs; None where all is."""
    known = set(there)
    for need in check.needs:
        if need not in known:
            what, remedy = NEEDS[need]
            sentence = f"{check.question} This cannot be told without {what}."
            said = (Statement("value by chance", (), "?"),) if need == "chance" else ()
            return Finding(
                check.name, check.heading, "cannot tell", check.kind, sentence, {"needs": need}, remedy, statements=said
            )
    return None
