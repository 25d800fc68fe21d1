"""One process at a time writes into a folder.

The lock is one of the operating system (flock) on a file in the folder: it ends with the process, however that ends,
so that a lock file that was left behind holds nobody up. The file names the process, for messages. Where the file
system has no locks, the file itself is the lock, and counts as long as its process runs.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from trueval.data.writing import make_folder, remove_empty, valid_name
from trueval.errors import OutputError

try:
    import fcntl
except ImportError:  # not a system of the Unix family
    fcntl = None  # type: ignore[assignment]

LOCK = ".trueval.lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
_held: set[tuple[int, int, str]] = set()  # process, thread, folder


@contextmanager
def locked(folder: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold a folder against other writers; it is made where there is none, and goes again if nothing was written.

    A thread that holds it may ask for it once more. `wait` is how many seconds another writer is waited for.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with locked(Path(place) / "new"):
    ...         [path.name for path in (Path(place) / "new").iterdir()]
    ...     (Path(place) / "new").exists()
    ['.trueval.lock']
    False
    """
    try:
        place = Path(os.path.realpath(valid_name(folder)))
    except OSError as problem:
        raise _cannot(str(problem.filename), problem.strerror or str(problem)) from problem
    key = os.getpid(), threading.get_ident(), str(place)
    if key in _held:
        yield
        return
    made: list[Path] = []
    try:
        handle = _acquired(place, made, until=time.monotonic() + wait, where=str(folder))
        _held.add(key)
        try:
            yield
        finally:
            _held.discard(key)
            with suppress(OSError):
                (place / LOCK).unlink()  # before the lock ends: who gets it next sees that the file has gone
            if handle is not None:
                os.close(handle)
    finally:
        remove_empty(made)


def _acquired(place: Path, made: list[Path], *, until: float, where: str) -> int | None:
    """The open lock file, locked; None where its being there is the lock."""
    path = place / LOCK
    while True:
        try:
            made += [one for one in make_folder(place) if one not in made]
            found, holder = _try(path)
        except FileNotFoundError:  # whoever made the folder has just removed it again
            if time.monotonic() > until + 5:
                raise _cannot(where, "the folder disappears") from None
            continue
        except OSError as problem:
            raise _cannot(where, problem.strerror or str(problem)) from problem
        if holder is None:
            return found
        if time.monotonic() >= until:
            raise _refused(path, holder, where)
        time.sleep(0.02)


def _try(path: Path) -> tuple[int | None, dict[str, Any] | None]:
    """The lock, or who holds it."""
    # never through a link: its target would be written over
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
    try:
        if not _flock(handle):
            os.close(handle)
            return _try_without_locks(path)
    except BlockingIOError:
        holder = _holder(path)
        os.close(handle)
        return None, holder
    holder = _holder(path)
    if not _is_at(handle, path):  # removed by its last holder meanwhile
        os.close(handle)
        raise FileNotFoundError
    if holder.get("host", socket.gethostname()) != socket.gethostname():
        os.close(handle)  # its locks may not reach this machine: only a person can tell whether it still runs
        return None, holder
    _sign(handle)
    return handle, None


def _flock(handle: int) -> bool:
    """Lock an open file; False where there are no locks. A BlockingIOError where another process has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in _NO_LOCKS:
            return False
        if problem.errno in (errno.EACCES, errno.EAGAIN):
            raise BlockingIOError from problem
        raise
    return True


def _try_without_locks(path: Path) -> tuple[None, dict[str, Any] | None]:
    """Take the lock file over unless its process still runs, as far as that can be told."""
    holder = _holder(path)
    if holder and _may_run(holder):
        return None, holder
    handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    _sign(handle)
    os.close(handle)
    time.sleep(0.1)  # of two that came at once, the one that signed last has it
    holder = _holder(path)
    return None, None if holder.get("process") == os.getpid() else holder


def _may_run(holder: dict[str, Any]) -> bool:
    """Whether the process may be running; its number may meanwhile be that of another one, which started later."""
    if holder.get("host") != socket.gethostname():
        return True
    pid = int(holder.get("process", 0))
    if pid == os.getpid() and holder.get("started") == _started(pid):
        return True
    if Path("/proc/self/stat").exists():
        return _started(pid) is not None and _started(pid) == holder.get("started")
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _started(pid: int) -> str | None:
    """When a process started, in the units of the system; None where it does not say, or there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _sign(handle: int) -> None:
    record = {"process": os.getpid(), "host": socket.gethostname(), "started": _started(os.getpid())}
    with suppress(OSError):  # on a full disk the lock holds all the same, and cannot say whose it is
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, json.dumps(record).encode())


def _holder(path: Path) -> dict[str, Any]:
    """What a lock file says; nothing where it cannot be read."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


def _refused(path: Path, holder: dict[str, Any], where: str) -> OutputError:
    if not holder:
        found = "a process that has not said which it is"
    else:
        found = f"process {holder.get('process')} on {holder.get('host')}"
    elsewhere = holder.get("host", socket.gethostname()) != socket.gethostname()
    do = "wait until it has ended, or use another folder"
    if elsewhere:
        do += f"; if it no longer runs on that machine, remove {path}"
    return OutputError("another process is writing into this folder", where=where, found=found, do=do)


def _cannot(where: str, found: str) -> OutputError:
    return OutputError(
        "the output folder could not be written", where=where, found=found, do="choose another folder (-o DIR)"
    )
