"""Packed tables that would fill the memory are refused before they are read."""

from __future__ import annotations

import gzip
import io
import random
import zlib
from pathlib import Path

import polars as pl
import pytest

from trueval.data import size_limits, unpacked_size
from trueval.data.read import read
from trueval.errors import DataError

BOMB = b"user,item\n" + b"1,2\n" * 3_000_000  # 12 MB, of which gzip makes 12 kB


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits as they are, of a thousandth of the size."""
    monkeypatch.setattr(size_limits, "_ALWAYS", 4_000_000)


def zstd(path: Path, text: str) -> Path:
    """Polars is the only writer of zstd here: one column, no quotes, as csv."""
    lines = pl.DataFrame({"line": text.rstrip("\n").split("\n")})
    lines.write_csv(path, include_header=False, quote_style="never", compression="zstd")
    return path


def logged(seed: int = 0, rows: int = 300_000) -> bytes:
    draw = random.Random(seed)
    return b"user,item\n" + b"".join(b"%d,%d\n" % (draw.randrange(10**5), draw.randrange(10**5)) for _ in range(rows))


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("name", ["log.csv.gz", "log.csv", "log.jsonl.gz", "log.inter.gz", "log.run.gz", "u.data"])
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_gzip_that_unpacks_to_too_much(tmp_path: Path, name: str, pack) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / name).write_bytes(pack(BOMB))
    with pytest.raises(DataError, match="unpacks to more than it may") as caught:
        read(tmp_path / name)
    assert caught.value.where == str(tmp_path / name)
    assert "TRUEVAL_UNPACKED_GB" in caught.value.do


@pytest.mark.usefixtures("tight")
def test_a_bomb_in_a_later_part_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n3,4\n") + gzip.compress(BOMB))
    with pytest.raises(DataError, match="unpacks to more than it may"):
        read(path)


@pytest.mark.usefixtures("tight")
def test_zstd_that_unpacks_to_too_much(tmp_path: Path) -> None:
    path = zstd(tmp_path / "log.csv.zst", BOMB.decode())
    with pytest.raises(DataError, match="unpacks to more than it may"):
        read(path)


@pytest.mark.usefixtures("tight")
def test_parquet_that_unpacks_to_too_much(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet.gz"
    path.write_bytes(gzip.compress(b"PAR1" + b"\0" * 12_000_000))
    with pytest.raises(DataError, match="unpacks to more than it may"):
        read(path)


@pytest.mark.usefixtures("tight")
def test_ordinary_logs_pass_and_are_not_unpacked_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(unpacked_size, "_deflated_size", lambda file, most: counted.append(most) or 0)
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(logged()))
    assert len(read(path).frame) == 300_000
    assert not counted


@pytest.mark.usefixtures("tight")
def test_a_limit_that_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.csv.gz").write_bytes(gzip.compress(BOMB))
    monkeypatch.setenv("TRUEVAL_UNPACKED_GB", "0.02")
    assert len(read(tmp_path / "log.csv.gz").frame) == 3_000_000


@pytest.mark.parametrize("level", [1, 6, 9])
@pytest.mark.parametrize("size", [0, 10, 5_000, 2_000_000])
def test_size_of_gzip(tmp_path: Path, level: int, size: int) -> None:
    content = logged(rows=size // 10)[:size]
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(content, level) + gzip.compress(b"more", level))
    with path.open("rb") as file:
        assert unpacked_size._deflated_size(file, 10**9) == len(content) + 4
    path.write_bytes(path.read_bytes()[:-5] + b"?" * 9)  # broken at its end: counted as far as it goes
    with path.open("rb") as file:
        assert unpacked_size._deflated_size(file, 10**9) <= len(content) + 4


@pytest.mark.parametrize("rows", [1, 100, 100_000])
def test_the_bound_of_zstd_is_close(tmp_path: Path, rows: int) -> None:
    content = logged(rows=rows)
    once = zstd(tmp_path / "x.zst", content.decode()).read_bytes()
    skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    (tmp_path / "x.zst").write_bytes(once + skipped + once)
    with (tmp_path / "x.zst").open("rb") as file:
        bound = unpacked_size._zstd_bound(file, 2 * len(once) + len(skipped), 10**12)
    assert 2 * len(content) <= bound <= 2 * len(content) + 4 * (1 << 17)


def test_zstd_of_repeated_bytes(tmp_path: Path) -> None:
    """Blocks of one repeated byte take four bytes each: 10 kB are 300 MB."""
    block = ((1 << 17) << 3 | 1 << 1).to_bytes(3, "little") + b"1"
    path = tmp_path / "x.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x58" + block * 40_000)
    with pytest.raises(DataError, match="unpacks to more than it may"):
        read(path)


def test_anything_may_follow_the_first_bytes(tmp_path: Path) -> None:
    for start in (b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"\x78\x9c", b"\x50\x2a\x4d\x18"):
        for rest in (b"", b"\0", b"\xff" * 3, b"\xff" * 100, b"\0" * 100):
            path = tmp_path / "x.csv"
            path.write_bytes(start + rest)
            unpacked_size.check_unpacked_size(path)
            with pytest.raises(DataError):
                read(path)


@pytest.mark.parametrize("content", [0, 1, 2, 3])
@pytest.mark.parametrize("single", [0, 1])
@pytest.mark.parametrize("dictionary", [0, 1, 2, 3])
@pytest.mark.parametrize("checksum", [0, 1])
def test_every_header_of_a_zstd_frame_is_passed_over(content: int, single: int, dictionary: int, checksum: int) -> None:
    """RFC 8878, 3.1.1: two frames with a block as it is and one byte that comes 70,000 times, and one to be skipped."""
    fields = b"" if single else b"\x58"  # the window
    fields += b"\x07" * {0: 0, 1: 1, 2: 2, 3: 4}[dictionary]
    fields += (
        b"\x01"
        * {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 1): 2, (2, 0): 4, (2, 1): 4, (3, 0): 8, (3, 1): 8}[content, single]
    )
    blocks = (9 << 3 | 0 << 1 | 0).to_bytes(3, "little") + b"123456789"
    blocks += (70_000 << 3 | 1 << 1 | 1).to_bytes(3, "little") + b"0"
    head = 0xFD2FB528.to_bytes(4, "little") + bytes([content << 6 | single << 5 | checksum << 2 | dictionary])
    frame = head + fields + blocks + b"\xff\xff\xff\xff" * checksum
    skipped = 0x184D2A53.to_bytes(4, "little") + (5).to_bytes(4, "little") + b"\x28\xb5\x2f\xfd\x00"
    whole = frame + skipped + frame
    assert unpacked_size._zstd_bound(io.BytesIO(whole), len(whole), 10**9) == 2 * 70_009
