"""Names that columns have: the common ones of each role, and the words that let one guess."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence

from trueval.errors import DefinitionError, suggest

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


def plain_name(name: str) -> str:
    """A name without case and signs.

    >>> plain_name("User-ID")
    'userid'
    """
    return re.sub(r"[\W_]+", "", name).lower()


_NAMES = {role: frozenset(map(plain_name, names.split())) for role, names in _DECLARED.items()}


def looks_like(name: str, role: str) -> bool:
    """Whether a column name is a common one for a role.

    >>> looks_like("userId", "user"), looks_like("genre", "item")
    (True, False)
    """
    return plain_name(name) in _NAMES[role]


# Words in names of columns that tell of a role without being a common name of it.
_WORDS = {
    "time": {"at", "on", "when", "day", "created", "updated", "time", "timestamp", "date", "datetime", "ts"},
    "user": {"user", "users", "customer", "visitor", "member", "reviewer", "client", "person", "uid"},
    "item": {"item", "items", "sku", "movie", "product", "article", "video", "song", "track", "book", "asin", "iid"},
}


def guess_column(names: Sequence[str], role: str) -> str | None:
    """The column whose name looks most like a role without being a common one; None where none or several do.

    >>> guess_column(["product_sku", "title"], "item"), guess_column(["boughtAt", "total"], "time")
    ('product_sku', 'boughtAt')
    >>> guess_column(["created_at", "updated_at"], "time"), guess_column(["format"], "time")
    (None, None)
    """
    close = [name for name in names if difflib.get_close_matches(plain_name(name), _NAMES[role], n=1, cutoff=0.8)]
    if close:
        return close[0]
    words = {name: set(re.findall(r"[a-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).lower())) for name in names}
    like = [name for name in names if words[name] & _WORDS.get(role, set())]
    return like[0] if len(like) == 1 else None


def check_role(role: str, known: Collection[str]) -> None:
    """Refuse a role that does not exist, with the one that was probably meant.

    >>> check_role("rating", ["user", "item", "value", "score"])
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
