"""How much memory there is, and refusals of work that needs more: a library whose allocation fails ends the process.

    available()                       bytes that this process may still take; None where the system does not say
    need_memory(bytes, what, do=…)    refuse what does not fit

Estimates are of what is certainly needed, so that nothing is refused that would have fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trueval.errors import DataError

_SMALL = 64 * 2**20  # not worth asking: every machine has it
_LIBRARIES = 400 * 2**20  # addresses that compiled code and stacks of threads take before any data
_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def need_memory(size: float, what: str, *, do: str, where: str = "") -> None:
    """Refuse work that needs so many bytes and does not fit.

    >>> need_memory(1000, "a small table", do="nothing")
    >>> need_memory(1e18, "the item weights of ease", do="use another system")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    trueval.errors.DataError: not enough memory for the item weights of ease
      found: about 1,000,000,000 GB needed, ... available
      do:    use another system
    """
    if size < _SMALL:
        return
    left = available()
    if left is not None and size > left:
        found = f"about {in_words(size)} needed, {in_words(left)} available"
        raise DataError(f"not enough memory for {what}", where=where, found=found, do=do)


def in_words(size: float) -> str:
    """A number of bytes for people.

    >>> in_words(3_456_000_000), in_words(64_000_000)
    ('3.5 GB', '64 MB')
    """
    size = max(size, 0)
    if size < 1e9:
        return f"{size / 1e6:.0f} MB"
    return f"{size / 1e9:.1f} GB" if size < 1e11 else f"{size / 1e9:,.0f} GB"


def available() -> int | None:
    """Bytes that this process may still take: the least of what the machine, its control group and its limits leave."""
    found = [*_of_machine(), *_of_groups(), *_of_limits()]
    return max(0, min(found)) if found else None


def _of_machine() -> Iterator[int]:
    """Free memory, and what the system can free at once."""
    left = _fields(_PROC / "meminfo").get("MemAvailable")
    if left is not None:
        yield left * 1024


def _of_groups() -> Iterator[int]:
    """What the limits of control groups leave, those of all groups above included. Cached files can be given back."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds not in ("", "memory") and "memory" not in kinds.split(","):
            continue
        root = _CGROUPS if not kinds else _CGROUPS / "memory"
        if kinds:
            limit_file, used_file, prefix = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
        else:
            limit_file, used_file, prefix = "memory.max", "memory.current", ""
        folder = root / path.strip("/")
        for group in (folder, *folder.parents):
            limit, used = _number(group / limit_file), _number(group / used_file)
            if limit is not None and used is not None and limit < 2**60:
                usage = _fields(group / "memory.stat")
                yield limit - used + usage.get(f"{prefix}inactive_file", 0) + usage.get(f"{prefix}active_file", 0)
            if group == root:
                break


def _of_limits() -> Iterator[int]:
    """What `ulimit -v` and `ulimit -d` leave."""
    try:
        import resource
    except ImportError:  # Windows
        return
    status = _fields(_PROC / "self" / "status")
    for limit, used, aside in ((resource.RLIMIT_AS, "VmSize", _LIBRARIES), (resource.RLIMIT_DATA, "VmData", 0)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY and used in status:
            yield most - status[used] * 1024 - aside


def _fields(path: Path) -> dict[str, int]:
    """The numbers of a file with a name and a number on each line."""
    try:
        words = [line.replace(":", " ").split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdecimal()}


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
