"""The tables of a study's database. Answers are rows that are added once and never changed."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

metadata = MetaData()


def _participant() -> Column[str]:
    return Column("participant", String(32), ForeignKey("participants.id"), nullable=False)


# One row each: the key of forms, the hash of the results' secret, the digest of the study.
settings = Table(
    "settings", metadata, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False)
)

counters = Table(
    "counters", metadata, Column("name", String(40), primary_key=True), Column("value", Integer, nullable=False)
)

# `id` is what exports show; of tokens and outside ids only hashes are here. Times are seconds since 1970, UTC.
participants = Table(
    "participants", metadata,
    Column("id", String(32), primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("outside_hash", String(64), unique=True),
    Column("known_user", Text),  # until the lists are made
    Column("language", String(20), nullable=False),
    Column("stage", String(20), nullable=False),
    Column("consented", Boolean, nullable=False),
    Column("comprehension_tries", Integer, nullable=False, default=0),
    Column("started", Float),
    Column("last_seen", Float),
    Column("finished", Float),
)  # fmt: skip

planned = Table(
    "planned", metadata,
    _participant(),
    Column("task", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("label", String(2), nullable=False),
    Column("system", Text, nullable=False),
    Column("check", String(10)),
    PrimaryKeyConstraint("participant", "task", "position"),
)  # fmt: skip

ratings = Table(
    "ratings", metadata,
    _participant(),
    Column("item", String(400), nullable=False),
    Column("value", Float, nullable=False),
    Column("source", String(10), nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("participant", "item"),
)  # fmt: skip

# What each system recommended, as JSON: the ids of items, best first.
lists = Table(
    "lists", metadata,
    _participant(),
    Column("system", Text, nullable=False),
    Column("items", Text, nullable=False),
    PrimaryKeyConstraint("participant", "system"),
)  # fmt: skip

# When a list came into view: position 0 where all lists of a task are seen together.
views = Table(
    "views", metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _participant(),
    Column("task", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("at", Float, nullable=False),
    Index("views_of", "participant", "task"),
)  # fmt: skip

# What was chosen but not yet sent, where lists are switched without a script.
drafts = Table(
    "drafts", metadata,
    _participant(),
    Column("task", Integer, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("participant", "task"),
)  # fmt: skip

# One answer for each task, as JSON; the primary key makes a second one impossible.
answers = Table(
    "answers", metadata,
    _participant(),
    Column("task", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Float, nullable=False),
    PrimaryKeyConstraint("participant", "task"),
)  # fmt: skip

comments = Table(
    "comments", metadata,
    Column("participant", String(32), ForeignKey("participants.id"), primary_key=True),
    Column("text", Text, nullable=False),
    Column("at", Float, nullable=False),
)  # fmt: skip
