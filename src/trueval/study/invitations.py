"""Invitations: addresses for known users, whose lists come from run files."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from trueval.errors import DataError
from trueval.study.storage import Storage


def invite(storage: Storage, users: Iterable[str], known: Iterable[str], *, address: str) -> pl.DataFrame:
    """Enrol users and return the address of each; the table is the only place where users and addresses meet."""
    users, listed = list(dict.fromkeys(users)), set(known)
    unknown = [user for user in users if user not in listed]
    if unknown:
        raise DataError(
            "not every run file has a list for this user", found=f"{unknown[0]}; {len(unknown)} of {len(users)} users",
            do="leave such users out, or add their lists",
        )  # fmt: skip
    tokens = [
        storage.enrol(known_user=user, invited=True, language=storage.study.about.languages[0]).token for user in users
    ]
    return pl.DataFrame({"user": users, "address": [f"{address.rstrip('/')}/p/{token}" for token in tokens]})
