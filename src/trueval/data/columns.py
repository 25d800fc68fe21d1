"""Which column plays which role: recognised by common names, or said explicitly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from trueval.errors import DataError, DefinitionError, suggest

LOG_ROLES = ("user", "item", "value", "time")
RUN_ROLES = ("user", "item", "score", "rank")
PREDICTION_ROLES = ("user", "item", "time", "prediction", "label", "weight")

# A column is named, given by position (from 0), or declared absent (None).
ColumnMap = Mapping[str, "str | int | None"]

_USER = "user user_id user_idx uid visitor visitor_id customer customer_id member_id reviewer_id query_id qid"
_ITEM = (
    "item item_id item_idx iid movie_id sku video_id artist_id product_id asin parent_asin book_id song_id"
    " track_id business_id article_id news_id doc_id joke_id"
)
_VALUE = "rating value score weight watch_ratio play_count plays listen_count relevance stars preference"
_SCORE = "score prediction pred rating value weight relevance"
_TIME = "time timestamp ts date datetime unix_time unix_timestamp event_time review_time unix_review_time"
_RANK = "rank position pos"
_PREDICTION = "prediction pred predicted probability prob p score ctr pctr"
_LABEL = "label click clicked y target converted"
_WEIGHT = "weight sample_weight"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


_NAMES = {
    role: frozenset(map(_plain, names.split()))
    for role, names in [
        ("user", _USER), ("item", _ITEM), ("value", _VALUE),
        ("time", _TIME), ("score", _SCORE), ("rank", _RANK),
        ("prediction", _PREDICTION), ("label", _LABEL), ("weight", _WEIGHT),
    ]
}  # fmt: skip
ALL_ROLES = tuple(_NAMES)
RANKING_ROLES = tuple(role for role in ALL_ROLES if role in (*LOG_ROLES, *RUN_ROLES))


def looks_like(name: str, role: str) -> bool:
    """Whether a column name is a common one for a role.

    >>> looks_like("userId", "user"), looks_like("genre", "item")
    (True, False)
    """
    return _plain(name) in _NAMES[role]


def looks_like_any(name: str) -> bool:
    """Whether a column name is a common one for some role; a single letter may just as well be an id.

    >>> looks_like_any("movieId"), looks_like_any("1193")
    (True, False)
    """
    return len(_plain(name)) > 1 and any(looks_like(name, role) for role in ALL_ROLES)


def parse_columns(text: str) -> dict[str, str | int | None]:
    """Roles from the form of the command line; a number is a position and `value=` says there is none.

    >>> parse_columns("user=uid, item=2")
    {'user': 'uid', 'item': 2}
    """
    columns: dict[str, str | int | None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        role, equals, name = (word.strip() for word in part.partition("="))
        if not equals:
            raise DefinitionError(
                "a column mapping is written role=column",
                where="columns",
                found=repr(part),
                do="user=uid,item=sku",
            )
        check_role(role)
        if role in columns:
            raise DefinitionError(
                f"the {role} column is given twice", where="columns", found=repr(text), do="give it once"
            )
        columns[role] = int(name) if name.isdigit() else name or None
    return columns


def check_role(role: str, known: Sequence[str] = ALL_ROLES) -> None:
    """Refuse a role that does not exist, with the one that was probably meant.

    >>> check_role("rating", RANKING_ROLES)
    Traceback (most recent call last):
    trueval.errors.DefinitionError: unknown column role
      where: columns
      found: 'rating'
      do:    did you mean value, score?
    """
    if role in known:
        return
    meant = [name for name in known if looks_like(role, name)]
    hint = f"did you mean {', '.join(meant)}?" if meant else suggest(role, known)
    raise DefinitionError("unknown column role", where="columns", found=repr(role), do=hint)


def find_roles(
    names: Sequence[str],
    columns: ColumnMap | None = None,
    *,
    roles: Sequence[str] = LOG_ROLES,
    where: str = "table",
) -> dict[str, str]:
    """The column of each role that a table has; `user` and `item`, where asked for, must be among them.

    Tables of predictions must have `prediction` and `label` instead; their users and items may be missing.
    Mapped roles that this kind of table does not have (`rank` in a log) are for other tables and skipped.

    >>> find_roles(["movieId", "userId", "rating"])
    {'user': 'userId', 'item': 'movieId', 'value': 'rating'}
    """
    columns = {role: None if column == "" else column for role, column in (columns or {}).items()}
    predictions = "prediction" in roles
    for role in columns:
        check_role(role, PREDICTION_ROLES if predictions else RANKING_ROLES)
    found = {
        role: _named(names, column, role=role, where=where)
        for role, column in columns.items()
        if role in roles and column is not None
    }
    _check_one_role_each(found, where)
    free = [name for name in names if name not in found.values()]
    own_words = "user" in names and "item" in names
    for role in roles:
        if role not in columns:
            name = _recognised(free, role, where=where, own_words=own_words)
            if name is not None:
                found[role] = name
    for role in ("prediction", "label") if predictions else ("user", "item"):
        if role in roles and role not in found:
            raise DataError(
                f"there is no {role} column",
                where=where,
                found="columns " + ", ".join(names),
                do=f"name it with columns={{'{role}': …}} (--columns {role}=…)",
            )
    return {role: found[role] for role in roles if role in found}


def _named(names: Sequence[str], column: str | int, *, role: str, where: str) -> str:
    """The name of an explicitly mapped column, which must exist."""
    if str(column) in names:
        return str(column)
    if isinstance(column, int) and 0 <= column < len(names):
        return names[column]
    asked = f"position {column} of {len(names)} columns (from 0)" if isinstance(column, int) else repr(column)
    raise DataError(
        f"the column given for {role} does not exist",
        where=where,
        found=f"{asked}; columns " + ", ".join(names),
        do=suggest(str(column), names),
    )


def _check_one_role_each(found: Mapping[str, str], where: str) -> None:
    taken: dict[str, str] = {}
    for role, name in found.items():
        if name in taken:
            raise DataError(
                "one column is given two roles",
                where=where,
                found=f"{name}: {taken[name]} and {role}",
                do="give each role its own column",
            )
        taken[name] = role


def _recognised(names: Sequence[str], role: str, *, where: str, own_words: bool) -> str | None:
    candidates = [name for name in names if looks_like(name, role)]
    # A table that already says user and item means value and time literally: what trueval writes, it reads.
    if own_words and role in candidates and role not in ("user", "item"):
        return role
    if len(candidates) > 1:
        raise DataError(
            f"more than one column looks like the {role}",
            where=where,
            found=", ".join(candidates),
            do=f"say which with columns={{'{role}': '{candidates[0]}'}} (--columns {role}={candidates[0]})",
        )
    return candidates[0] if candidates else None


def renaming(names: Sequence[str], found: Mapping[str, str], roles: Sequence[str]) -> dict[str, str]:
    """Old to new names; a column that merely happens to be called like a role, taken or absent, steps aside.

    >>> renaming(["uid", "user", "item"], {"user": "uid", "item": "item"}, LOG_ROLES)
    {'user': 'source_user', 'uid': 'user', 'item': 'item'}
    >>> renaming(["user", "item", "time"], {"user": "user", "item": "item"}, LOG_ROLES)["time"]
    'source_time'
    """
    taken = {*names, *roles}
    aside = {}
    for name in names:
        if name in roles and name not in found.values():
            new = f"source_{name}"
            while new in taken:
                new = f"source_{new}"
            taken.add(new)
            aside[name] = new
    return aside | {name: role for role, name in found.items()}
