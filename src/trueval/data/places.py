"""Where an input may be: in a file or folder of this machine, never at an address, in a pipe or a device."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from trueval.errors import DataError

# Path("s3://x") has lost a slash.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/{1,2}\S")
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def usable_path(source: str | Path) -> Path:
    """A path as it was written, with `~` filled in, unless it can be none of this machine.

    >>> usable_path("s3://logs/may.parquet")
    Traceback (most recent call last):
    trueval.errors.DataError: only files of this machine are read, and this is an address
      where: s3://logs/may.parquet
      found: s3
      do:    download the file first and give its path
    """
    written = str(source)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(
            "the name of the file is not valid Unicode", where=ascii(written), do="rename the file or folder"
        ) from None
    if "\0" in written:
        raise DataError("the path cannot be used", where=ascii(written), found="a null character", do="check the path")
    try:
        path = Path(source).expanduser()
    except RuntimeError:  # nobody is called so: it may be the name of a file
        path = Path(source)
    address = _ADDRESS.match(written)
    if address and not path_exists(path):
        do = "give the path alone" if address[1].lower() == "file" else "download the file first and give its path"
        raise DataError(
            "only files of this machine are read, and this is an address", where=written, found=address[1], do=do
        )
    return path


def path_exists(path: Path) -> bool:
    """Whether something is at a path; a path that the machine cannot even look at is an error."""
    try:
        return path.exists()
    except (OSError, ValueError) as error:  # too long a name, a folder without permission, a null character
        found = getattr(error, "strerror", None) or str(error)
        raise DataError("the path cannot be used", where=str(path), found=found, do="check the path") from error


def check_not_special(path: Path) -> None:
    """Refuse pipes, devices and sockets: they have no format, cannot be read twice, and may never end.

    >>> check_not_special(Path("/dev/null"))
    Traceback (most recent call last):
    trueval.errors.DataError: this is not a file
      where: /dev/null
      found: a device
      do:    write the table into a file whose suffix says its format, and give that (.gz and .zst are read as they are)
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # whoever opens it says what is wrong
    kind = next((name for test, name in _KINDS if test(mode)), None)
    if kind is not None:
        raise DataError(
            "this is not a file",
            where=str(path),
            found=kind,
            do="write the table into a file whose suffix says its format, and give that (.gz and .zst are read as "
            "they are)",
        )


def describe_absence(path: Path) -> str:
    """What is wrong where nothing is: a link that leads nowhere, no such file, or no such folder.

    >>> describe_absence(Path("nowhere/x.csv"))
    'no folder nowhere'
    """
    if path.is_symlink():
        return f"a link to {os.readlink(path)}, which is not there"
    folder = path.parent
    return f"no {path.name} in {folder.resolve()}" if folder.is_dir() else f"no folder {folder}"


def entries(folder: Path) -> list[Path]:
    """What is in a folder, by name; nothing where it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
