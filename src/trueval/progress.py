"""Progress of long work: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from trueval.errors import visible

_quiet = False


class Step(Protocol):
    """Called with the number of units just finished."""

    def __call__(self, done: int = 1) -> None: ...


class NamedStep(Protocol):
    """A step that may also say what is done next."""

    def __call__(self, done: int = 1, doing: str = "") -> None: ...


def set_quiet(quiet: bool) -> None:
    """Silence progress and notes everywhere (`--quiet`)."""
    global _quiet
    _quiet = quiet


def note(text: str) -> None:
    """One line for the person at the terminal, on standard error."""
    if not _quiet:
        print(visible(text), file=sys.stderr, flush=True)


def bars_are_shown() -> bool:
    """Whether progress bars are shown: on a terminal, unless `--quiet`."""
    return not _quiet and sys.stderr.isatty()


@contextmanager
def hushed() -> Iterator[None]:
    """Show no progress inside the block: it is one step of work whose progress is shown."""
    global _quiet
    before, _quiet = _quiet, True
    try:
        yield
    finally:
        _quiet = before


@contextmanager
def progress(title: str, total: int, *, after: float = 1.0) -> Iterator[NamedStep]:
    """Show how far some work is; work that ends within `after` seconds shows nothing.

    >>> with progress("ranking", 2) as step:
    ...     step()
    ...     step()
    """
    if _quiet or total <= 0:
        yield lambda done=1, doing="": None
    elif sys.stderr.isatty():
        yield from _bar(title, total, after)
    else:
        yield from _lines(title, total, after)


def _bar(title: str, total: int, after: float) -> Iterator[NamedStep]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(visible(title), total=total)
    begun = time.monotonic()

    def step(done: int = 1, doing: str = "") -> None:
        bar.update(task, advance=done, description=visible(doing) or None)
        if not bar.live.is_started and time.monotonic() - begun >= after:
            bar.start()

    try:
        yield step
    finally:
        bar.stop()


def _lines(title: str, total: int, after: float) -> Iterator[NamedStep]:
    begun = printed = time.monotonic()
    finished = 0

    def step(done: int = 1, doing: str = "") -> None:
        nonlocal printed, finished, title
        finished += done
        title = doing or title
        now = time.monotonic()
        if finished and now - begun >= after and (now - printed >= 10 or (finished >= total and now - begun >= 10)):
            printed = now
            left = (now - begun) / finished * (total - finished)
            print(visible(f"{title}: {finished:,} of {total:,}, {left:.0f} s left"), file=sys.stderr, flush=True)

    yield step
