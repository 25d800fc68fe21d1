"""What can begin before the command line is taken apart: reading the run that is to be evaluated."""

from __future__ import annotations

from collections.abc import Sequence

# With these a run is read in another way, by fewer threads, or not at all.
_OTHERWISE = ("--columns", "--sorted-by-user", "--engine", "--threads", "--help", "-h")


def begin_reading(words: Sequence[str]) -> None:
    """Begin to read the run of `trueval evaluate RUN.parquet --…`, while what the command needs is imported.

    A guess that costs little where it is wrong: nothing is said of the file before the command asks for it.
    """
    if len(words) < 2 or words[0] != "evaluate" or not words[1].endswith(".parquet"):
        return
    if (words[2:3] and not words[2].startswith("-")) or any(word.startswith(_OTHERWISE) for word in words[2:]):
        return
    from trueval.data.whole_runs import read_ahead

    read_ahead(words[1])
