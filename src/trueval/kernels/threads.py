"""How many threads work, and a way to give them blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from trueval.arguments import check_range

Job = TypeVar("Job")
Done = TypeVar("Done")

_threads: int | None = None


def threads() -> int:
    """Number of worker threads: `--threads`, else the cores this process may use."""
    return _threads or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


@contextmanager
def use_threads(number: int | None) -> Iterator[None]:
    """Work with this many threads inside the block (None leaves the number as it is)."""
    global _threads
    if number is not None:
        check_range("threads", number)
    before, _threads = _threads, number or _threads
    try:
        yield
    finally:
        _threads = before


def _with_room(work: Callable[[Job], Done], job: Job) -> Done:
    return work(job)


# A thread keeps the frames of its calls in pieces of 16 KB, and CPython gives a piece back as soon as it is empty. A
# kernel is compiled within deep calls; where these go back and forth over the edge of a piece, memory is asked for
# hundreds of thousands of times, which was a third of the time. Next to a frame this large there is room for all.
_with_room.__code__ = _with_room.__code__.replace(co_stacksize=40_000)


def in_order(work: Callable[[Job], Done], jobs: Iterable[Job]) -> Iterator[Done]:
    """Results of some jobs in the order of the jobs; few are ever waiting, so memory stays bounded.

    >>> list(in_order(lambda job: job * 2, [1, 2, 3]))
    [2, 4, 6]
    """
    number = threads()
    if number == 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(number) as pool:
        waiting = []
        try:
            for job in jobs:
                waiting.append(pool.submit(_with_room, work, job))
                if len(waiting) > 2 * number:
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()


def blocks(length: int, size: int) -> list[slice]:
    """Slices of at most `size` that cover a length.

    >>> blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(begin, min(begin + size, length)) for begin in range(0, length, size)]
