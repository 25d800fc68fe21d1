"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from trueval.errors import OutputError

# Polars reports a full disk as an OSError, as an error of its own, or by a panic, which is no Exception.
WRITE_FAILURES = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
_OS_ERROR = re.compile(r"([A-Z][^:]*) \(os error \d+\)")


@contextmanager
def writing(where: Path | str, *, what: str, do: str = "") -> Iterator[None]:
    """What a place that cannot be written leads to: an error that says where, and why.

    >>> with writing("out", what="the folder could not be made"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    trueval.errors.OutputError: the folder could not be made
      where: out
      found: No space left on device
    """
    try:
        yield
    except WRITE_FAILURES as problem:
        raise OutputError(what, where=_shown(where), found=reason_of(problem), do=do) from problem


def write_whole(
    path: Path | str,
    content: str | Callable[[Path], object],
    *,
    what: str = "the result could not be written",
    do: str = "choose a folder that exists, can be written and has enough space",
) -> None:
    """Write text, or let a function write, into a temporary file beside the target, then rename.

    Whatever fails, and whenever the process is killed, the target is the old file or the new one. A symbolic link is
    written through, as by a shell: the file that it points to is replaced (or made), and the link stays. An existing
    file keeps its permissions; a new one follows the umask. Devices, pipes and folders are refused.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     write_whole(Path(place) / "result.txt", "42")
    ...     [(path.name, path.read_text()) for path in Path(place).iterdir()]
    [('result.txt', '42')]
    """
    temporary: Path | None = None
    try:
        with writing(path, what=what, do=do):
            target = place_of(path)
            temporary = _new_file_beside(target)
            write_content(temporary, content)
            keep_permissions(temporary, target)
            waiting = _WAITING.get()
            if waiting is None:
                temporary.replace(target)
            else:
                waiting.files.append((temporary, target))
                temporary = None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@dataclass
class _Waiting:
    """Files that were written, beside where they are to be, and what is to be done once they are there."""

    files: list[tuple[Path, Path]] = field(default_factory=list)
    then: list[Callable[[], object]] = field(default_factory=list)


_WAITING: ContextVar[_Waiting | None] = ContextVar("files that wait for others", default=None)


@contextmanager
def together() -> Iterator[None]:
    """What `write_whole` writes in the block takes its place at its end; where anything fails, none of it does.

    >>> with tempfile.TemporaryDirectory() as place, suppress(OutputError), together():
    ...     write_whole(Path(place) / "report.html", "<p>")
    ...     write_whole(Path(place) / "no folder" / "table.csv", "a")
    ...     print("not reached")
    """
    waiting = _Waiting()
    before = _WAITING.set(waiting)
    try:
        yield
        while waiting.files:
            temporary, target = waiting.files[0]
            with writing(target, what="the result could not be written"):
                temporary.replace(target)
            del waiting.files[0]
    finally:
        _WAITING.reset(before)
        for temporary, _ in waiting.files:
            temporary.unlink(missing_ok=True)
    for action in waiting.then:
        action()


def once_written(action: Callable[[], object]) -> None:
    """Do something now, or, where files wait for others, when all of them are in their places."""
    waiting = _WAITING.get()
    if waiting is None:
        action()
    else:
        waiting.then.append(action)


def write_content(path: Path, content: str | Callable[[Path], object]) -> None:
    """Write text into a file, or let a function write it; a name that is no valid text (in a path) is escaped."""
    if callable(content):
        content(path)
    else:
        path.write_text(content, encoding="utf-8", errors="backslashreplace")


def place_of(path: Path | str) -> Path:
    """Where a file is really written: links are followed. An OSError for what is not, or cannot be, a regular file.

    >>> place_of("/dev/null")
    Traceback (most recent call last):
    OSError: [Errno 22] it is not a regular file: '/dev/null'
    """
    text = valid_name(path)
    with suppress(FileNotFoundError):
        mode = os.stat(text).st_mode  # of what a link points to, which may have no path of its own
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "it is a folder", text)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", text)
    step = os.path.abspath(text)
    for _ in range(40):  # as many links as Linux follows
        if _is_a_stream(step):
            raise OSError(errno.EINVAL, "it is an open stream, not a file", text)
        if not os.path.islink(step):
            return Path(os.path.realpath(text))
        step = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(step)), os.readlink(step)))
    raise OSError(errno.ELOOP, "a symbolic link that leads back to itself", text)


def valid_name(path: Path | str) -> str:
    """A path as text; an OSError for one that no file can have."""
    text = str(path)
    if "\0" in text:
        raise OSError(errno.EINVAL, "the name contains a NUL character", text.replace("\0", "\\0"))
    return text


def _is_a_stream(name: str) -> bool:
    """Whether a path names something that a process has open, as /dev/stdout does."""
    return name.startswith(("/proc/", "/dev/fd/")) or os.path.dirname(name) == "/dev"


def reason_of(problem: BaseException) -> str:
    """Why something could not be written, in the words of the operating system where it has some.

    >>> reason_of(OSError(28, "No space left on device", "x.csv"))
    'No space left on device'
    >>> reason_of(pl.exceptions.ComputeError("parquet: underlying IO error: File too large (os error 27)"))
    'File too large'
    """
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    found = _OS_ERROR.search(str(problem))
    return found.group(1) if found else str(problem).strip().split("\n")[0] or type(problem).__name__


def keep_permissions(new: Path, old: Path) -> None:
    """Give a new file or folder the permissions, and where that is allowed the owner, of the one it replaces."""
    try:
        before = os.stat(old, follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISLNK(before.st_mode):
        return
    now = os.stat(new)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.chown(new, before.st_uid, before.st_gid)
    os.chmod(new, stat.S_IMODE(before.st_mode) & 0o777)


def _new_file_beside(target: Path) -> Path:
    """An empty file that nobody else has, in the folder of the target; it follows the umask, as `mkstemp`'s do not."""
    while True:
        # short, so that every name which the file system takes can be written
        name = f".{target.name[:40]}.{secrets.token_hex(4)}{target.suffix[:16]}"
        try:
            handle = os.open(target.with_name(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            continue
        os.close(handle)
        return target.with_name(name)


@contextmanager
def whole_folder(folder: Path, *, what: str, do: str) -> Iterator[Path]:
    """A new folder to write into, which takes the place of `folder` once all is written; what was there goes then.

    Where the system can exchange two folders (Linux, macOS), a process that is killed leaves the old or the new one;
    elsewhere, killed between two renames, it leaves the old one as `.NAME-…/old` beside. Parents that were made for
    the folder go again when it could not be written.

    >>> with tempfile.TemporaryDirectory() as place:
    ...     with whole_folder(Path(place) / "out", what="not written", do="try again") as new:
    ...         written = (new / "a.txt").write_text("42")
    ...     [str(path.relative_to(place)) for path in Path(place).rglob("*.txt")]
    ['out/a.txt']
    """
    made: list[Path] = []
    try:
        target = Path(os.path.realpath(valid_name(folder)))  # a link stays, and the folder it points to is replaced
        made = make_folder(target.parent)
        with tempfile.TemporaryDirectory(prefix=f".{target.name[:40]}-", dir=target.parent) as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            yield new
            _replace(target, new)
    except BaseException as problem:
        remove_empty(made)
        if isinstance(problem, WRITE_FAILURES):
            raise OutputError(what, where=_shown(folder), found=reason_of(problem), do=do) from problem
        raise


def _shown(path: Path | str) -> str:
    return str(path).replace("\0", "\\0")


def make_folder(folder: Path) -> list[Path]:
    """Make a folder with its parents; the folders that were not there before, the innermost first."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except BaseException:
        remove_empty(made)
        raise
    return made


def remove_empty(folders: list[Path]) -> None:
    """Remove those folders that are there and empty."""
    for place in folders:
        with suppress(OSError):
            place.rmdir()


def _replace(folder: Path, new: Path) -> None:
    """Put the new folder where the old one was; the old one goes with the scratch folder, or comes back."""
    if not folder.exists():
        os.replace(new, folder)
        return
    keep_permissions(new, folder)
    if exchange(folder, new):
        return
    old = new.with_name("old")
    os.replace(folder, old)
    try:
        os.replace(new, folder)
    except OSError:
        os.replace(old, folder)
        raise


def exchange(one: Path, other: Path) -> bool:
    """Exchange two files or folders of one file system in a single step; False where the system cannot do that."""
    if os.name == "nt":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    paths = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):  # Linux
        here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        failed = library.renameat2(here, paths[0], here, paths[1], swap)
    elif hasattr(library, "renamex_np"):  # macOS
        swap = 2  # RENAME_SWAP
        failed = library.renamex_np(*paths, swap)
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EXDEV):
        return False
    raise OSError(number, os.strerror(number), str(one))
