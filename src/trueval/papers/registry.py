"""The papers that can be rerun, and the figures of each.

A paper is a folder beside this file, whose module `paper` has the record `PAPER`; the figures that the record lists are
functions with the decorator `figure`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueval.data.interactions import Interactions
from trueval.errors import DefinitionError, suggest
from trueval.papers.record import Figure
from trueval.papers.setting import Setting

# In the order of their years.
NAMES = ("steck2011", "bellogin2017", "mena2020", "parapar2021")


@dataclass(frozen=True, slots=True)
class FigureMaker:
    """A figure that can be made: its name in the paper ("3", "table1"), its title, and the function that makes it."""

    name: str
    title: str
    make: Callable[[Setting], Figure]


def figure(name: str, title: str) -> Callable[[Callable[[Setting], Figure]], FigureMaker]:
    """Decorate a function that makes a figure from a setting.

    >>> @figure("3", "Bounds")
    ... def bounds(setting):
    ...     return Figure("3", "Bounds", {}, {}, ())
    >>> bounds.name
    '3'
    """
    return lambda make: FigureMaker(name, title, make)


@dataclass(frozen=True, slots=True)
class DataSlot:
    """A data set that a paper uses: how it is read from a path, and the world that stands in where there is none.

    `world` gets `quick` and `seed`. `check` refuses data that cannot be used, before the work.
    """

    what: str
    read: Callable[[Any], Interactions]
    world: Callable[[bool, int], Interactions]
    check: Callable[[Interactions], None]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: who wrote it, what it is about, the data that it needs and the figures that can be made.

    `data` are slots by name, the first of which `--data PATH` fills; others are filled by `--data NAME=PATH`.
    """

    name: str
    title: str
    reference: str
    data: Mapping[str, DataSlot]
    figures: Sequence[FigureMaker]
    about: Sequence[str] = ()
    experiments: Sequence[str] = ()  # names of the experiment files that belong to it


def paper_of(name: str) -> Paper:
    """The paper of a name.

    >>> paper_of("bellogin2017").reference
    'A. Bellogín, P. Castells, I. Cantador. Information Retrieval Journal 20, 2017'
    >>> paper_of("belogin")
    Traceback (most recent call last):
    trueval.errors.DefinitionError: there is no paper 'belogin'
      do:    did you mean bellogin2017?
    """
    if name not in NAMES:
        raise DefinitionError(f"there is no paper {name!r}", do=suggest(name, NAMES))
    made: Paper = importlib.import_module(f"trueval.papers.{name}.paper").PAPER
    return made


def chosen_figures(paper: Paper, names: Sequence[str]) -> list[FigureMaker]:
    """The figures of some names, in the order of the paper; all of them without names.

    >>> chosen_figures(paper_of("bellogin2017"), ["77"])
    Traceback (most recent call last):
    trueval.errors.DefinitionError: bellogin2017 has no figure '77'
      do:    did you mean 7?
    """
    known = [one.name for one in paper.figures]
    for name in names:
        if name not in known:
            hint = suggest(name, known)
            hint = hint if hint.startswith("did") else f"available: {', '.join(known)}"
            raise DefinitionError(f"{paper.name} has no figure {name!r}", do=hint)
    return [one for one in paper.figures if one.name in names or not names]
