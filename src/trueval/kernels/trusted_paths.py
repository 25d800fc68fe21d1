"""Folders and files that nobody else can have written: compiled code is run, so its files must be our own.

Trusted are root and who runs the program. A folder is trusted when nobody else can put a file into it or replace it:
every part of its path is owned by one of the two and closed to others, or is a folder such as /tmp in which only owners
may rename and remove. On Windows, which tells none of this, folders are taken as they are.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

_MOST_LINKS = 40  # as many as Linux follows
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH


def distrust(folder: Path, *, to_make_in: bool = False) -> str:
    """Why others could have written files of a folder, or an empty text where they could not.

    With `to_make_in`, why they could replace a folder that is made in it: less is asked of it.

    >>> distrust(Path("/")), distrust(Path("/nowhere/at/all"))
    ('', '/nowhere cannot be read')
    """
    if not hasattr(os, "geteuid"):
        return ""
    if folder.is_symlink():
        return f"{folder} is a symbolic link"
    path = Path(os.path.abspath(folder))
    here, waiting, links = Path(path.anchor), list(path.parts[1:]), 0
    reason = _why_not(here, os.lstat(here), last=not waiting and not to_make_in)
    while waiting and not reason:
        name = waiting.pop(0)
        if name == "..":  # of the target of a link: all before it has been followed
            here = here.parent
            continue
        place = here / name
        try:
            found = os.lstat(place)
            target = os.readlink(place) if stat.S_ISLNK(found.st_mode) else ""
        except OSError:
            return f"{place} cannot be read"
        reason = _why_not(place, found, last=not waiting and not to_make_in)
        if not target:
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            return f"{place} is one symbolic link too many"
        here = Path(place.anchor) if os.path.isabs(target) else here
        waiting = [part for part in Path(target).parts if part != os.sep] + waiting
    return reason


def is_trusted_file(file: int) -> bool:
    """Whether an open file is a regular one that only root and who runs the program can have written."""
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        return False
    return not hasattr(os, "geteuid") or (_is_trusted(found.st_uid) and not found.st_mode & _WRITABLE)


def _why_not(place: Path, found: os.stat_result, *, last: bool) -> str:
    if not _is_trusted(found.st_uid):
        return f"{place} belongs to another user"
    if stat.S_ISLNK(found.st_mode):  # who may replace it is said by the folder it is in
        return ""
    if not stat.S_ISDIR(found.st_mode):
        return f"{place} is no folder"
    writable = found.st_mode & _WRITABLE
    if last:
        return f"{place} can be written by others" if writable else ""
    if writable == stat.S_IWGRP and _is_own_group(found.st_gid):
        return ""
    return f"{place} can be written by others" if writable and not found.st_mode & stat.S_ISVTX else ""


def _is_trusted(user: int) -> bool:
    return user in (0, os.geteuid())


@cache
def _is_own_group(group: int) -> bool:
    """Whether a group is that of one user alone: where each user has one, homes may be open to it."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_name == user.pw_name and user.pw_gid == group and set(found.gr_mem) <= {user.pw_name}
