"""Which column plays which role: recognised by common names, or given explicitly.

One declaration of roles with their common names, and one function that finds them. A kind of table declares, where it
is read, which roles it needs and which it may have.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trueval.errors import DataError, DefinitionError, suggest

# A column is named, given by position (from 0), or declared absent (None).
ColumnMap = Mapping[str, "str | int | None"]

_WEIGHTED = "score rating value weight relevance"
_CHANCE = "probability prob p"
_PROPENSITY = "propensity propensity_score pscore"
_CLICK = "click clicked label converted"
_RANK = "rank position pos"

# The common names of each role, whatever the case and the signs between words.
_DECLARED = {
    "user": "user user_id user_idx uid visitor visitor_id customer customer_id member_id reviewer_id query_id qid",
    "item": "item item_id item_idx iid movie_id sku video_id artist_id product_id asin parent_asin book_id song_id"
    " track_id business_id article_id news_id doc_id joke_id",
    "value": f"{_WEIGHTED} watch_ratio play_count plays listen_count stars preference",
    "time": "time timestamp ts date datetime unix_time unix_timestamp event_time review_time unix_review_time",
    "score": f"{_WEIGHTED} prediction pred",
    "rank": _RANK,
    "prediction": f"{_CHANCE} prediction pred predicted score ctr pctr",
    "label": f"{_CLICK} y target",
    "weight": "weight sample_weight",
    "position": f"{_RANK} slot",
    "click": f"{_CLICK} clicks reward",
    "count": "count n displays impressions views",
    "p": f"{_CHANCE} {_PROPENSITY} chance",
    "reward": f"{_CLICK} clicks reward conversion outcome",
    "propensity": f"{_PROPENSITY} action_prob logging_probability logging_prob behavior_prob",
    "probability": f"{_CHANCE} pi target_probability target_prob share",
    "arm": "arm",
    # Other words for users and items, in tables that say so: elsewhere they mean something else.
    "round": "round round_id impression_id request_id session_id slate_id",
    "action": "action action_id arm arm_id",
}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


_NAMES = {role: frozenset(map(_plain, names.split())) for role, names in _DECLARED.items()}


@dataclass(frozen=True, kw_only=True)
class TableRoles:
    """The roles of one kind of table: those it needs, then those it may have.

    >>> list(TableRoles(needs=("user", "item"), may_have=("time",)))
    ['user', 'item', 'time']
    """

    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()
    # Roles of other tables that the same mapping may speak of: skipped here.
    others: tuple[str, ...] = ("user", "item", "value", "time", "score", "rank")
    # Roles that count as absent where several columns look like them.
    absent_if_several: tuple[str, ...] = ()
    # Other roles whose names count too, always or where no column has a name of the role itself.
    also_called: Mapping[str, str] = field(default_factory=dict)
    else_called: Mapping[str, str] = field(default_factory=dict)
    # A column called exactly like the role is the one that is meant, whatever else looks like it.
    own_name_wins: bool = False
    # How a person says which column it is: a mapping, an option of the role's name, or by renaming it.
    given_by: Literal["columns", "option", "name"] = "columns"

    def __iter__(self) -> Iterator[str]:
        return iter((*self.needs, *self.may_have))

    def __len__(self) -> int:
        return len(self.needs) + len(self.may_have)

    def __contains__(self, role: object) -> bool:
        return role in self.needs or role in self.may_have


NO_ROLES = TableRoles()
LOG_ROLES = TableRoles(needs=("user", "item"), may_have=("value", "time"))
RUN_ROLES = TableRoles(needs=("user", "item"), may_have=("score", "rank"))
PREDICTION_ROLES = TableRoles(needs=("prediction", "label"), may_have=("user", "item", "time", "weight"), others=())
RANKING_ROLES = tuple(dict.fromkeys((*LOG_ROLES, *RUN_ROLES)))
# Their names also tell a header from a first row; those of other tables (action, share) are often values.
_HEADER_ROLES = tuple(dict.fromkeys((*RANKING_ROLES, *PREDICTION_ROLES)))


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
    return len(_plain(name)) > 1 and any(looks_like(name, role) for role in _HEADER_ROLES)


def parse_columns(text: str, known: Collection[str] = _HEADER_ROLES) -> dict[str, str | int | None]:
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
        check_role(role, known)
        if role in columns:
            raise DefinitionError(
                f"the {role} column is given twice", where="columns", found=repr(text), do="give it once"
            )
        columns[role] = int(name) if name.isdigit() else name or None
    return columns


def check_role(role: str, known: Collection[str]) -> None:
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
    names: Sequence[str], columns: ColumnMap | None = None, *, roles: TableRoles = LOG_ROLES, where: str = "table"
) -> dict[str, str]:
    """The column of each role that a table has: the one given, else the one with a common name of the role.

    Mapped roles that this kind of table does not have (`rank` in a log) are for other tables and skipped.

    >>> find_roles(["movieId", "userId", "rating"])
    {'user': 'userId', 'item': 'movieId', 'value': 'rating'}
    """
    columns = dict(columns or {})
    if roles.given_by == "columns":  # in a mapping, nothing is as good as None
        columns = {role: None if column == "" else column for role, column in columns.items()}
    for role in columns:
        check_role(role, tuple(dict.fromkeys((*roles, *roles.others))))
    found = {
        role: _given(names, column, role, roles, where)
        for role, column in columns.items()
        if role in roles and column is not None
    }
    _check_one_role_each(found, where)
    for role in roles:
        if role not in columns:
            free = [name for name in names if name not in found.values()]
            name = _recognised(free, role, roles, where, has_own_names="user" in names and "item" in names)
            if name is not None:
                found[role] = name
    for role in roles.needs:
        if role not in found:
            raise _absent(role, names, found, roles, where)
    return {role: found[role] for role in roles if role in found}


def applicable_columns(columns: ColumnMap | None, names: Collection[str]) -> dict[str, str | int | None]:
    """The entries of another table's mapping that apply here: columns that this table has, and roles without a column.

    >>> applicable_columns({"user": "uid", "item": "sku", "value": None}, ["sku", "slot"])
    {'item': 'sku', 'value': None}
    """
    return {role: column for role, column in (columns or {}).items() if column is None or str(column) in names}


def shortened(names: Sequence[str], *, most: int = 20) -> str:
    """Names with commas between them; a wide table shows its first ones.

    >>> shortened(["a", "b", "c"], most=2)
    'a, b … (3)'
    """
    return ", ".join(names[:most]) + (f" … ({len(names)})" if len(names) > most else "")


def _given(names: Sequence[str], column: str | int, role: str, roles: TableRoles, where: str) -> str:
    """The name of an explicitly mapped column, which must exist."""
    if str(column) in names:
        return str(column)
    if isinstance(column, int) and 0 <= column < len(names):
        return names[column]
    asked = f"position {column} of {len(names)} columns (from 0)" if isinstance(column, int) else repr(column)
    close = suggest(str(column), names)
    raise DataError(
        f"the column given for {role} does not exist",
        where=where,
        found=f"{asked}; columns {shortened(names)}",
        do=close if close.startswith("did") else f"name one of them with {_mapping_hint(role, '…', roles)}",
    )


def _mapping_hint(role: str, name: str, roles: TableRoles) -> str:
    """How to say which column has a role, in Python and at the command line."""
    quoted = name if name == "…" else repr(name)
    if roles.given_by == "option":
        return f"{role}={quoted} (--{role} {name})"
    return f"columns={{'{role}': {quoted}}} (--columns {role}={name})"


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


def _recognised(names: Sequence[str], role: str, roles: TableRoles, where: str, *, has_own_names: bool) -> str | None:
    accepted = [role, *filter(None, [roles.also_called.get(role)])]
    like = [name for name in names if any(looks_like(name, other) for other in accepted)]
    if not like and role in roles.else_called:
        like = [name for name in names if looks_like(name, roles.else_called[role])]
    # A table that already says user and item means value and time literally: what trueval writes, it reads.
    if role in like and (roles.own_name_wins or (has_own_names and role not in ("user", "item"))):
        return role
    if len(like) > 1 and role not in roles.absent_if_several:
        raise DataError(
            f"more than one column looks like the {role}",
            where=where,
            found=", ".join(like),
            do=f"rename the right one to {role}"
            if roles.given_by == "name"
            else f"choose one with {_mapping_hint(role, like[0], roles)}",
        )
    return like[0] if len(like) == 1 else None


def _absent(role: str, names: Sequence[str], found: Mapping[str, str], roles: TableRoles, where: str) -> DataError:
    """The error for a role that a table needs; a column whose name is nearly a common one is suggested."""
    free = [name for name in names if name not in found.values()]
    close = [name for name in free if difflib.get_close_matches(_plain(name), _NAMES[role], n=1, cutoff=0.8)]
    do = f"name it with {_mapping_hint(role, close[0] if close else '…', roles)}"
    return DataError(
        f"there is no {role} column",
        where=where,
        found=f"columns {shortened(names)}",
        do=f"name it {role}" if roles.given_by == "name" else do,
    )


def renaming(names: Sequence[str], found: Mapping[str, str], roles: Collection[str]) -> dict[str, str]:
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
