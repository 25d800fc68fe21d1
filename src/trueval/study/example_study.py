"""A small study that runs: a generated world with titles, years, genres and pictures, and a commented study file."""

from __future__ import annotations

import colorsys
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval.kernels.seeds import derive
from trueval.simulation.demo_world import make_world

_HERE = Path(__file__).parent / "example"
STUDY_FILE = "study.toml"


def example_text(form: str) -> str:
    """The study file of an example, with comments."""
    begin = (_HERE / "begin.toml").read_text(encoding="utf-8").format(form=form)
    return begin + "".join((_HERE / f"{name}.toml").read_text(encoding="utf-8") for name in (form, "end"))


def example_files(form: str, *, seed: int = 0) -> dict[str, str | Callable[[Path], Any]]:
    """All files of an example, by name: text, or a function that writes."""
    world = make_world(users=800, items=400, interactions=24_000, seed=seed)
    table = world.log.items
    assert table is not None
    rng = np.random.default_rng(int(derive(seed, "study example")))
    names = [f"{one}.png" for one in table["item"].to_list()]
    items = table.select(
        "item",
        "title",
        pl.Series("year", 2024 - np.floor(rng.gamma(1.6, 11, len(table))).clip(0, 90).astype(np.int64)),
        pl.col("aspects").list.join("|").alias("genres"),
        pl.Series("picture", names),
    )
    genres = sorted({one[0] for one in table["aspects"].to_list()})
    pictures = {
        f"pictures/{name}": _writer(_poster(rng, genres.index(aspects[0]) / len(genres)))
        for name, aspects in zip(names, table["aspects"].to_list())
    }
    log = world.log.frame.select("user", "item", "value")
    return {STUDY_FILE: example_text(form), "log.csv": log.write_csv(), "items.csv": items.write_csv(), **pictures}


def _writer(content: bytes) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(content)


def _poster(rng: np.random.Generator, hue: float) -> bytes:
    """A small picture in the colour of a genre: a sky, a disc, hills."""
    height, width = 104, 72
    y, x = np.mgrid[0:height, 0:width] / height
    tint = (hue + 0.04 * rng.standard_normal()) % 1
    sky, disc, hill = (
        np.array(colorsys.hls_to_rgb((tint + turn) % 1, light, 0.45))
        for turn, light in ((0, 0.72), (0.5, 0.86), (0.04, 0.3))
    )
    picture = sky * (1.08 - 0.3 * y[..., None])
    at, size = rng.uniform((0.2, 0.12), (0.55, 0.4)), rng.uniform(0.08, 0.2)
    picture[(x - at[0]) ** 2 + (y - at[1]) ** 2 < size**2] = disc
    ground = 0.68 + 0.09 * np.sin(rng.uniform(3, 12) * x + rng.uniform(0, 6)) + rng.uniform(-0.08, 0.06)
    picture[y > ground] = hill
    return _png((np.clip(picture, 0, 1) * 255).astype(np.uint8))


def _png(pixels: np.ndarray) -> bytes:
    """An array of red, green and blue as a PNG file.

    >>> _png(np.zeros((2, 3, 3), np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, _ = pixels.shape
    rows = b"".join(b"\x00" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = {b"IHDR": header, b"IDAT": zlib.compress(rows, 9), b"IEND": b""}
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
