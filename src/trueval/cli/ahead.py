"""What can begin before the command line is taken apart: reading the run that is to be evaluated."""

from __future__ import annotations

import re
from collections.abc import Sequence

# With these a run is read in another way, by fewer threads, or not at all.
_OTHERWISE = ("--columns", "--sorted-by-user", "--engine", "--threads", "--help", "-h")
# Metrics, as most people ask for them, that look at nothing behind their cutoff; and with these options alone it is the
# metrics that say how deep anything looks into the lists.
PLAIN = ("ap", "dcg", "hit", "map", "mrr", "ndcg", "precision", "recall", "rr")
_NO_DEEPER = ("--test", "--metrics", "--interval", "--threshold", "--baseline", "--format", "--output", "-o", "--quiet")


def begin_reading(words: Sequence[str]) -> None:
    """Begin to read the run of `trueval evaluate RUN.parquet --…`, while what the command needs is imported.

    A guess that costs little where it is wrong: nothing is said of the file before the command asks for it.
    """
    if len(words) < 2 or words[0] != "evaluate" or not words[1].endswith(".parquet"):
        return
    if (words[2:3] and not words[2].startswith("-")) or any(word.startswith(_OTHERWISE) for word in words[2:]):
        return
    from trueval.data.whole_runs import read_ahead

    read_ahead(words[1], depth=_depth(words[2:]))


def _depth(words: Sequence[str]) -> int | None:
    """The deepest cutoff, where nothing looks deeper as far as the words tell.

    >>> _depth(["--test", "test.parquet", "--metrics", "ndcg@10,recall@20"])
    20
    >>> _depth(["--test", "test.parquet", "--metrics", "ndcg@10,rr"])
    >>> _depth(["--metrics", "ndcg@10", "--ties", "expected"])
    """
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    if options.count("--metrics") != 1 or not set(options) <= set(_NO_DEEPER):
        return None
    at = next(place for place, word in enumerate(words) if word.partition("=")[0] == "--metrics")
    named = words[at].partition("=")[2] or "".join(words[at + 1 : at + 2])
    cutoffs = [re.fullmatch(rf"\s*(?:{'|'.join(PLAIN)})@(\d{{1,9}})\s*", name) for name in named.split(",")]
    return max(int(cutoff[1]) for cutoff in cutoffs if cutoff) if all(cutoffs) else None
