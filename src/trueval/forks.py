"""Processes made by a fork: one whose parent had used polars would wait for ever for threads that it does not have.

A fork copies the memory of a process, but of its threads only the one that forks. The pool of threads that polars
starts when it first computes is in the copy by its state alone: whatever the child gives it is never done. trueval has
no threads of its own that outlive a call.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_POOL = "polars-"  # and a number: the names of its threads
_TASKS = "/proc/self/task"


class _State:
    """What this process knows of itself; `would_hang` is what a child would be, `hangs` what this process is."""

    used = would_hang = hangs = False


def _before() -> None:
    _State.would_hang = "polars" in sys.modules and _has_pool()


def _in_child() -> None:
    _State.hangs = _State.hangs or _State.would_hang


def _has_pool() -> bool:
    """Whether polars has started its threads; where the system does not tell (macOS), whether trueval was used."""
    try:
        tasks = os.listdir(_TASKS)
    except OSError:
        return _State.used
    names = map(_name, tasks)
    return any(name.startswith(_POOL) and name.removeprefix(_POOL).isdecimal() for name in names)


def _name(task: str) -> str:
    try:
        with open(f"{_TASKS}/{task}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:  # it has just ended
        return ""


def check_process(where: str) -> None:
    """Refuse to work in a process in which polars would hang."""
    _State.used = True
    if _State.hangs:
        from trueval.errors import TruevalError  # here, so that `import trueval` reads little

        raise TruevalError(
            "this process was forked after polars had started its threads, and would wait for them for ever",
            where=where, found=f"process {os.getpid()}, forked from a process that had used trueval or polars",
            do='start processes anew: ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")), joblib\'s\n'
            "loky; gunicorn without --preload; or use trueval and polars in the children alone",
        )  # fmt: skip


def needs_threads(function: Function) -> Function:
    """A function that computes with polars: refused where that would hang."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        check_process(function.__qualname__)
        return function(*given, **named)

    return call  # type: ignore[return-value]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=_in_child)
