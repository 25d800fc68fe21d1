"""Worlds in folders: the log in a stream of blocks, the truth beside it, and a manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval import __version__
from trueval.data.checksummed_json import file_checksum
from trueval.data.ids import Ids
from trueval.data.json_values import parse_json
from trueval.data.tables import read_parquet
from trueval.data.writing import whole_folder
from trueval.errors import DataError, OutputError
from trueval.simulation.by_topics import ByTopics
from trueval.simulation.observation import ByCounts, ByPopularity
from trueval.simulation.periods import ByPeriods, TimesInPeriods
from trueval.simulation.self_selection import BySelfSelection
from trueval.simulation.tastes import Tastes
from trueval.simulation.times import Times
from trueval.simulation.world import World

MANIFEST = "world.json"
FILES = ("log", "users", "items", "user_truth", "item_truth")
_PROBABILITY: dict[type, str] = {
    ByPopularity: "min(activity · weight, 0.95) · kept[level]",
    BySelfSelection: "min(activity · weight · 2 / (1 + e^(−slope · liking)), 0.95) · kept[level], slope = strength · "
    "log10(greatest weight / weight), liking = likes of user · likes of item",
    ByPeriods: "min(Σ over periods of activity · weight, 0.95) · kept[level]",
    ByTopics: "min(Σ over periods of activity · weight × Σ of topics of user · topics of item, 0.95) · kept[level]",
    ByCounts: "ratings of the item / users",
}


def save_world(world: World, folder: str | Path, *, force: bool = False) -> Path:
    """Write a world into a folder (see `World.save`); `load_world` reads it.

    Rows go into the file block by block: a log of any length needs the memory of one block.

    >>> import tempfile
    >>> from trueval.simulation.latent import latent_world
    >>> world = latent_world(users=20, items=10, seed=1)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     written = save_world(world, Path(place) / "world")
    ...     sorted(path.name for path in written.iterdir()), len(load_world(written).log) == len(world.log)
    (['item_truth.parquet', 'items.parquet', 'log.parquet', 'user_truth.parquet', 'users.parquet', 'world.json'], True)
    """
    folder = Path(folder)
    check_free(folder, force=force)
    what = "the world could not be written; nothing was left behind"
    with whole_folder(folder, what=what, do="check the folder, its permissions and the free space") as place:
        rows = _write_log(world, place / "log.parquet")
        world.user_table.write_parquet(place / "users.parquet")
        world.item_table.write_parquet(place / "items.parquet")
        for name, table in _truth(world).items():
            table.write_parquet(place / f"{name}.parquet")
        checksums = {name: file_checksum(place / f"{name}.parquet") for name in FILES}
        manifest = {**_manifest(world, rows), "checksums": checksums}
        (place / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return folder


def _write_log(world: World, path: Path) -> int:
    """The rows, block by block where the log was not drawn yet; how many there are."""
    if world.drawn is not None or "log" in world.__dict__:
        world.log.frame.write_parquet(path)
        return len(world.log)
    count = 0

    def blocks() -> Iterator[pl.DataFrame]:
        nonlocal count
        for rows in world.rows():
            count += len(rows)
            yield rows

    append_parquet(blocks(), path)
    return count


def append_parquet(blocks: Iterator[pl.DataFrame], path: Path) -> None:
    """Tables one after the other in a parquet file, of which only a few are in memory."""
    first = next(blocks, None)
    if first is None:
        raise DataError("no pair was observed", do="ask for more ratings")

    def source(with_columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Iterator[pl.DataFrame]:
        yield first
        yield from blocks

    from polars.io.plugins import register_io_source

    register_io_source(source, schema=first.schema).sink_parquet(path)


def _truth(world: World) -> dict[str, pl.DataFrame]:
    tastes, seen, times = world.tastes, world.seen, world.times
    users: dict[str, Any] = {"user": world.users.values, "factors": _lists(tastes.user_factors)}
    items: dict[str, Any] = {"item": world.items.values, "factors": _lists(tastes.item_factors)}
    if isinstance(seen, ByPopularity):
        users["activity"], items["weight"] = seen.activity, seen.weight
        if isinstance(seen, BySelfSelection):
            users["likes"], items["likes"] = _lists(seen.user_likes), _lists(seen.item_likes)
    elif isinstance(seen, ByPeriods):
        users["activity"], items["weight"] = _lists(seen.activities), _lists(seen.weights)
        if isinstance(seen, ByTopics):
            users["topics"], items["topics"] = _lists(seen.user_topics), _lists(seen.item_topics)
    elif isinstance(seen, ByCounts):
        items["ratings"] = seen.counts
    if isinstance(times, TimesInPeriods):
        users["first"], users["last"] = _lists(times.first), _lists(times.last)
    elif isinstance(times, Times):
        users["joined"], items["released"] = times.joined, times.released
        users |= {} if times.left is None else {"left": times.left}
    if tastes.trend is not None:
        items["trend"] = tastes.trend
    return {"user_truth": pl.DataFrame(users), "item_truth": pl.DataFrame(items)}


def _lists(table: np.ndarray) -> pl.Series:
    """The rows of a table, each in one cell."""
    kind = {"float32": pl.Float32, "float64": pl.Float64, "int64": pl.Int64}[table.dtype.name]
    return pl.Series(table, dtype=pl.Array(kind, table.shape[1]))


def _manifest(world: World, rows: int) -> dict[str, Any]:
    tastes, times = world.tastes, world.times
    return {
        "made by": f"trueval simulate {world.kind}", "version": __version__, "kind": world.kind, "seed": world.seed,
        "options": {name: _plain(value) for name, value in world.options.items()}, "rows": rows,
        "users": len(world.users), "items": len(world.items), "threshold": world.threshold,
        "levels": list(tastes.levels), "cuts": list(map(float, tastes.cuts)), "noise": tastes.noise,
        "kept": list(world.kept), "kept share": world.kept_share,
        "observation": None if world.seen is None else type(world.seen).__name__,
        **({"strength": world.seen.strength} if isinstance(world.seen, BySelfSelection) else {}),
        "times": {"begin": times.begin, "end": times.end, "fade": times.fade}
        if isinstance(times, (Times, TimesInPeriods)) else None,
        "formulas": {
            "mean": "factors of user · factors of item + trend · (t − 1)",
            "rating": "level in which mean + noise · z falls, z a hash of seed, user and item",
            "probability": _PROBABILITY.get(type(world.seen), "no closed form"),
        },
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value


def check_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder that a world cannot be written to: it is replaced as a whole."""
    try:
        entries = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else None
        there = folder.exists()
    except OSError as problem:
        found = problem.strerror or str(problem)
        raise OutputError("the output folder could not be written", where=str(folder), found=found) from problem
    if not there or entries == []:
        return
    ours = entries is not None and MANIFEST in entries
    others = [name for name in entries or () if name != MANIFEST and name not in [f"{one}.parquet" for one in FILES]]
    if force and ours and not others:
        return
    found = "a world made earlier" if ours else "a folder with other files" if entries is not None else "a file"
    raise OutputError(
        "there is already something at the output folder",
        where=str(folder),
        found=f"{found}, and other files: {', '.join(others[:5])}" if ours and others else found,
        do="use force (--force) to replace it, or another folder" if ours and not others else "use another folder",
    )


def _check_unchanged(folder: Path, checksums: Any) -> None:
    """Refuse files that have changed since the world was written; worlds of earlier versions have no checksums."""
    for name, checksum in checksums.items() if isinstance(checksums, dict) else ():
        path = folder / f"{name}.parquet"
        if path.is_file() and file_checksum(path) != checksum:
            raise DataError(
                "a file of the world has changed since it was written", where=str(path), found="another checksum",
                do="make the world again, or read the log alone",
            )  # fmt: skip


def load_world(folder: str | Path) -> World:
    """Read a world that `World.save` or `trueval simulate` wrote; its log is read, not drawn again."""
    from trueval.data.interactions import Interactions

    folder = Path(folder)
    try:
        manifest = parse_json((folder / MANIFEST).read_text(encoding="utf-8"))
        levels, cuts = tuple(map(float, manifest["levels"])), tuple(map(float, manifest["cuts"]))
        kind, seed, made, when = (manifest[name] for name in ("kind", "seed", "observation", "times"))
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataError(
            "the folder is not a world", where=str(folder), found=f"{MANIFEST}: {problem}",
            do="give a folder that trueval simulate wrote",
        ) from problem  # fmt: skip
    _check_unchanged(folder, manifest.get("checksums"))
    tables = {name: read_parquet(folder / f"{name}.parquet", do="make the world again") for name in FILES}
    users, items = tables["user_truth"], tables["item_truth"]
    trend = items["trend"].to_numpy() if "trend" in items.columns else None
    tastes = Tastes(
        users["factors"].to_numpy(), items["factors"].to_numpy(), levels=levels, cuts=cuts, noise=manifest["noise"],
        seed=seed, trend=trend,
    )  # fmt: skip
    seen: Any = None
    if made == "ByPopularity":
        seen = ByPopularity(users["activity"].to_numpy(), items["weight"].to_numpy(), seed)
    elif made == "BySelfSelection":
        seen = BySelfSelection(
            users["activity"].to_numpy(), items["weight"].to_numpy(), seed, user_likes=users["likes"].to_numpy(),
            item_likes=items["likes"].to_numpy(), strength=manifest["strength"],
        )  # fmt: skip
    elif made == "ByPeriods":
        seen = ByPeriods(users["activity"].to_numpy(), items["weight"].to_numpy(), seed)
    elif made == "ByTopics":
        seen = ByTopics(
            users["activity"].to_numpy(), items["weight"].to_numpy(), seed, user_topics=users["topics"].to_numpy(),
            item_topics=items["topics"].to_numpy(),
        )  # fmt: skip
    elif made == "ByCounts":
        seen = ByCounts(items["ratings"].to_numpy(), len(users), seed)
    times: Times | TimesInPeriods | None = None
    if when is not None and "first" in users.columns:
        spans = users["first"].to_numpy(), users["last"].to_numpy()
        times = TimesInPeriods(seen.activities, seen.weights, *spans, seed=seed, **when)
    elif when is not None:
        left = users["left"].to_numpy() if "left" in users.columns else None
        times = Times(items["released"].to_numpy(), users["joined"].to_numpy(), seed=seed, left=left, **when)
    log = Interactions.of(tables["log"], name=kind, users=tables["users"], items=tables["items"])
    return World(
        kind, tastes, Ids(users["user"].alias("")), Ids(items["item"].alias("")), manifest["threshold"], seen,
        tables["users"], tables["items"], kept=tuple(manifest["kept"]),
        kept_share=manifest["kept share"], times=times, options=manifest["options"], drawn=log,
    )  # fmt: skip
