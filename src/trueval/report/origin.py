"""What a report was made from: when, by which command, from which files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Origin:
    """The command line and the files of a report; both are unknown where Python code made it."""

    command: str = ""
    files: tuple[str, ...] = ()

    def about(self, data: str = "") -> dict[str, str]:
        """What stands under the title of the report; `data` says what was evaluated.

        >>> about = Origin("trueval ab users.csv --arm version").about("2,000 users")
        >>> list(about), about["Command"]
        (['Data', 'Made', 'Command'], 'trueval ab users.csv --arm version')
        """
        from trueval import __version__

        entries = {
            "Data": data,
            "Files": ", ".join(self.files),
            "Made": f"{today()} with trueval {__version__}",
            "Command": self.command,
        }
        return {name: text for name, text in entries.items() if text}


UNKNOWN = Origin()


def today() -> str:
    """The date, or that of SOURCE_DATE_EPOCH, by which all builds that should give the same bytes set it.

    >>> import os
    >>> os.environ["SOURCE_DATE_EPOCH"] = "86400"
    >>> today()
    '2 January 1970'
    >>> del os.environ["SOURCE_DATE_EPOCH"]
    """
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)
    return f"{now.day} {now:%B %Y}"


def named_files(paths: Iterable[object]) -> tuple[str, ...]:
    """The files and folders among some values of options, with the sizes of the files.

    >>> named_files(["no such file", None, 3])
    ()
    """
    found = {}
    for path in paths:
        if isinstance(path, (str, Path)) and str(path):
            try:
                if Path(path).exists():
                    found[str(path)] = f"{path} ({_size(path)})" if Path(path).is_file() else str(path)
            except (OSError, ValueError):  # a name that no file can have
                continue
    return tuple(found.values())


def _size(path: str | Path) -> str:
    size = float(Path(path).stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
