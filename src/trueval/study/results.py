"""The results page: how far the study is, and whether its plan is balanced; never what people preferred."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from starlette.responses import Response

from trueval.study.export import export_tables
from trueval.study.identities import hashed, same
from trueval.study.position_counts import position_counts
from trueval.study.site import Site

# The pages that people are at, in the order in which they come, and what they are called; tasks come before comments.
_BEFORE = {"comprehension": "comprehension check", "ratings": "ratings"}
_AFTER = {"comment": "comment", "done": "finished", "excluded": "ended by the comprehension check"}


def results_page(site: Site, secret: str | None) -> Response:
    """Ask for the secret or, with the right one, show counts."""
    words = site.words_for("en")
    known = site.storage.setting("results secret")
    if secret is None:
        return site.page("results", words, tiles=[])
    if known is None or not same(hashed(secret), known):
        return site.page("results", words, status=403, tiles=[], problem="This is not the secret of this study.")
    found = export_tables(site.storage, names=("participants", "shown"))
    people = found["participants"]
    return site.page("results", words, tiles=_tiles(site, people), tables=_tables(site, found), wide=True)


def _tiles(site: Site, people: pl.DataFrame) -> list[tuple[str, str]]:
    minutes = (
        people.drop_nulls("finished")
        .select(((pl.col("finished") - pl.col("started")).dt.total_milliseconds() / 60_000).alias("minutes"))["minutes"]
        .to_numpy()
    )
    tiles = [
        ("finished", f"{len(minutes):,} of {site.study.about.participants:,} planned"),
        ("began", f"{len(people):,}"),
    ]
    if len(minutes):
        tiles.append(("median time", f"{np.median(minutes):.1f} min"))
        tiles.append(("shortest and longest", f"{minutes.min():.1f} to {minutes.max():.1f} min"))
    return tiles


def _tables(site: Site, found: dict[str, pl.DataFrame]) -> list[dict[str, Any]]:
    people = found["participants"]
    places = position_counts(found["shown"], people.filter(pl.col("finished").is_not_null()).select("participant"))
    place = {"pair": {"1": "left", "2": "right"}}.get(site.study.about.form, {})
    columns = [place.get(name, f"place {name}") for name in places.columns[1:]]
    return [
        {"title": "Where people are", "columns": ["page", "people"], "rows": _pages(people)},
        {"title": "How often people who finished saw each system at each place", "columns": ["system", *columns],
         "rows": places.rows()},
    ]  # fmt: skip


def _pages(people: pl.DataFrame) -> list[tuple[str, int]]:
    """How many people are at each page, in the order of the pages."""
    counts = dict(people.group_by("last_page").len().iter_rows())
    tasks = sorted((one for one in counts if one.startswith("task ")), key=lambda one: int(one.removeprefix("task ")))
    names = {**_BEFORE, **{one: one for one in tasks}, **_AFTER}
    return [(name, counts[page]) for page, name in names.items() if page in counts]
