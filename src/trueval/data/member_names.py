"""Names of the files in an archive: all inside its folder, each once, such as every system can keep."""

from __future__ import annotations

import unicodedata
from pathlib import PurePosixPath

from trueval.data.size_limits import DEEPEST, LONGEST_NAME
from trueval.errors import DataError


class MemberNames:
    """The names seen so far in one archive, and where each may be written.

    >>> MemberNames("x.zip").place("ml-1m/./ratings.dat")
    PurePosixPath('ml-1m/ratings.dat')
    """

    def __init__(self, archive: str) -> None:
        self.archive = archive
        self._written: dict[str, str] = {}  # names as systems compare them, and as they are written
        self._folders: dict[str, str] = {}

    def place(self, name: str) -> PurePosixPath:
        """The path of a member below the folder of the archive; a DataError where it cannot have one."""
        pieces = PurePosixPath(name.replace("\\", "/"))
        if pieces.is_absolute() or ".." in pieces.parts or ":" in (pieces.parts or ("",))[0]:
            raise self._refused("the archive would write outside its folder", name)
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
            raise self._refused("the archive holds a name with characters that cannot be kept", name)
        long = any(len(piece.encode("utf-8")) > LONGEST_NAME for piece in pieces.parts)
        if long or len(pieces.parts) > DEEPEST:
            raise self._refused("the archive holds a name that is too long", name)
        if not name.endswith(("/", "\\")):
            self._claim(pieces, name)
        return pieces

    def _claim(self, pieces: PurePosixPath, name: str) -> None:
        """Note a file and its folders; two that differ in case alone are one file on many systems."""
        key = _compared(pieces)
        folders = {_compared(folder): str(folder) for folder in list(pieces.parents)[:-1]}
        before = self._written.get(key) or self._folders.get(key)
        before = before or next((self._written[folder] for folder in folders if folder in self._written), None)
        if before is not None or not pieces.parts:
            raise self._refused("the archive holds two files of one name", before or "", name)
        self._written[key] = name
        self._folders |= folders

    def _refused(self, what: str, *names: str) -> DataError:
        shown = " and ".join(repr(name if len(name) <= 120 else f"{name[:120]}…") for name in names)
        return DataError(what, where=self.archive, found=shown, do="do not use this file; fetch it from the publisher")


def _compared(path: PurePosixPath) -> str:
    """A name as file systems compare it that know no case.

    >>> _compared(PurePosixPath("Data/LOG.csv"))
    'data/log.csv'
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", str(path)).casefold())
