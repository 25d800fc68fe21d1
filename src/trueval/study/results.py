"""The results page: how far the study is, and whether its plan is balanced; never what people preferred."""

from __future__ import annotations

from typing import Any

import polars as pl
from starlette.responses import Response

from trueval.study.export import export_tables
from trueval.study.identities import hashed, same
from trueval.study.site import Site


def results_page(site: Site, secret: str | None) -> Response:
    """Ask for the secret or, with the right one, show counts."""
    words = site.words_for("en")
    known = site.storage.setting("results secret")
    if secret is None:
        return site.page("results", words, tables=[])
    if known is None or not same(hashed(secret), known):
        return site.page("results", words, status=403, tables=[], problem="This is not the secret of this study.")
    found = export_tables(site.storage)
    people = found["participants"]
    finished = int(people["finished"].is_not_null().sum())
    summary = f"{finished} of {site.study.about.participants} planned participants have finished; {len(people)} began."
    return site.page("results", words, tables=_tables(found, people), summary=summary, wide=True)


def _tables(found: dict[str, pl.DataFrame], people: pl.DataFrame) -> list[dict[str, Any]]:
    pages = people.group_by("last_page").len("participants").sort("last_page")
    done = people.filter(pl.col("finished").is_not_null()).select("participant")
    places = position_counts(found["shown"], done)
    minutes = people.drop_nulls("finished").select(
        ((pl.col("finished") - pl.col("started")).dt.total_milliseconds() / 60_000).alias("minutes")
    )["minutes"]
    times = [("participants who finished", len(minutes)), ("median minutes", _round(minutes.median()))]
    times += [("shortest", _round(minutes.min())), ("longest", _round(minutes.max()))]
    return [
        {"title": "Where people are", "columns": pages.columns, "rows": pages.rows()},
        {"title": "How often finished participants saw each system at each place", "columns": places.columns,
         "rows": places.rows()},
        {"title": "Time", "columns": ["", ""], "rows": times},
    ]  # fmt: skip


def position_counts(shown: pl.DataFrame, people: pl.DataFrame | None = None) -> pl.DataFrame:
    """How often each system was shown at each place, planted lists left out."""
    kept = shown.filter(pl.col("check").is_null())
    kept = kept if people is None else kept.join(people, on="participant", how="semi")
    if not len(kept):
        return pl.DataFrame({"system": []}, schema={"system": pl.String})
    counts = kept.group_by("system", "position").len()
    return counts.pivot("position", index="system", values="len", sort_columns=True).sort("system").fill_null(0)


def _round(value: Any) -> str:
    return "" if value is None else f"{value:.1f}"
