"""What can be wrong with a file, a cell or an option. Every choice comes from the generator that is passed in."""

from __future__ import annotations

import gzip
import io
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

CELLS = [
    "", " ", "NaN", "nan", "inf", "-inf", "-1", "0", "-0.0", "1e300", "1e-320", "1e999", "9" * 19, "9" * 4000,
    "9223372036854775808", "-9223372036854775809", "0x10", "1_000", "1,5", "1.5.2", "true", "None", "null", "\\N",
    "2024-13-45", "2024-02-30T25:61", "\x1b[31mred\x1b[0m", "\x07", "\x00", "=1+2", "@SUM(A1)", "<script>alert(1)",
    "\u202eabc", "\ufeff", "é" * 3, "😀", "'", '"', '"a', "a\rb", "u" * 200_000, "{}", "[]", "[1,2]", "\\", "%s", "🇩🇪",
]  # fmt: skip
VALUES = [
    "", " ", "0", "-1", "1", "0.5", "1.5", "nan", "inf", "-inf", "1e9", "1e300", "99999999999", "9" * 400, "abc",
    "a,b", ",", "," * 5000, "=", "a=b", "a=", "=b", "a=b=c", "user=user", "user=nothing", "item=0", "user=item", "(",
    ")",
    "()", "((((", "[", "]", "ndcg", "ndcg@", "ndcg@0", "ndcg@-1", "ndcg@1e9", "ndcg@10[", "ndcg@10[x=1]", "ndcg@@10",
    "recall@99999999999", "recall@5[beta=nan]", "anti(anti(ndcg))@5", "snips(recall)@5", "rbp[p=2]", "AR-TI-AN",
    "1R-TI-NN99999999999", "P1R0-TI-NN0", "U1R-TI-NN5", "given-head200", "given", "--", "-", "/", ".", "..", "~",
    "/dev/null", "/nonexistent/x.csv", "x.csv", "x.pdf", "x.parquet", "x.html", "dir/", "\x1b[31m", "\n", "é", "😀",
    "http://", "http://[::1", "file:///etc/passwd", "ftp://a/b", "2020-01-01", "2020-13-01", "random", "user", "item",
    "a" * 300, "a" * 5000, "true", "None", "{", "}", "'", '"', "`", "$(id)", "%s%n", "t", "spark", "all", "holm",
    "clicks/0", "ctr=clicks/(", "ctr=(((((((clicks)))))))", "a:b=c", "x:median=clicks", "1=1", "clicks > ", "1; drop",
]  # fmt: skip
ENDINGS = [".csv", ".tsv", ".parquet", ".jsonl", ".csv.gz", ".csv.zst", ".tsv.gz", ".jsonl.gz", ".zip"]


def encode(frame: pl.DataFrame, ending: str) -> bytes:
    """A table as the content of a file with this ending."""
    if ending == ".parquet":
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return buffer.getvalue()
    if ending == ".zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as packed:
            packed.writestr("table.csv", frame.write_csv())
        return buffer.getvalue()
    if ending == ".csv.zst":
        buffer = io.BytesIO()
        frame.write_csv(buffer, compression="zstd")
        return buffer.getvalue()
    text = frame.write_ndjson() if ".jsonl" in ending else frame.write_csv(separator="\t" if ".tsv" in ending else ",")
    if ending.endswith(".gz"):
        return gzip.compress(text.encode(), 1, mtime=0)
    return text.encode()


def spoil_frame(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    """A table with other rows, columns, cells or types."""
    return rng.choice(_FRAMES)(frame, rng)


def spoil_bytes(content: bytes, rng: random.Random) -> bytes:
    """A file whose bytes are not those of a good table."""
    return rng.choice(_BYTES)(content, rng)


def spoil_toml(text: str, rng: random.Random) -> str:
    """An experiment file with another value, key or section, or that is no TOML."""
    return rng.choice(_TOMLS)(text, rng)


def _cells(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    column = rng.choice(frame.columns)
    values = [None if v is None else str(v) for v in frame[column].to_list()]
    for _ in range(rng.choice([1, 1, 2, len(values)])):
        if values:
            values[rng.randrange(len(values))] = rng.choice([None, *CELLS])
    return frame.with_columns(pl.Series(column, values, dtype=pl.String))


def _all_cells(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    return frame.with_columns(pl.lit(rng.choice([None, *CELLS])).alias(rng.choice(frame.columns)))


_TYPES: list[Callable[[pl.Expr], pl.Expr]] = [
    lambda c: pl.concat_list(c),
    lambda c: pl.struct(a=c),
    lambda c: c.cast(pl.String).cast(pl.Categorical),
    lambda c: c.cast(pl.String).cast(pl.Binary),
    lambda c: c.cast(pl.Boolean, strict=False),
    lambda c: c.cast(pl.Int8, strict=False),
    lambda c: c.cast(pl.UInt64, strict=False),
    lambda c: c.cast(pl.Int128, strict=False) * 2**70,
    lambda c: c.cast(pl.Float32, strict=False),
    lambda c: c.cast(pl.Decimal(10, 2), strict=False),
    lambda c: c.cast(pl.Int64, strict=False).cast(pl.Datetime("us"), strict=False),
    lambda c: c.cast(pl.Int64, strict=False).cast(pl.Date, strict=False),
    lambda c: c.cast(pl.Int64, strict=False).cast(pl.Duration("ms"), strict=False),
    lambda c: c.cast(pl.Int64, strict=False).cast(pl.Time, strict=False),
    lambda c: (c.cast(pl.Int32, strict=False) * 10**7 + 10**9).cast(pl.Date),
    lambda c: (c.cast(pl.Int64, strict=False) + 2**62).cast(pl.Datetime("ms")),
    lambda c: (c.cast(pl.Int64, strict=False) + 2**62).cast(pl.Datetime("us")),
    lambda c: c.cast(pl.Decimal(38, 0), strict=False),
    lambda c: c.cast(pl.UInt64, strict=False) + 2**63,
    lambda c: pl.lit(None),
    lambda c: pl.lit(float("nan")),
    lambda c: pl.lit(float("-inf")),
    lambda c: c.cast(pl.Float64, strict=False) * 1e300,
    lambda c: pl.lit(7),
    lambda c: pl.concat_list(c).cast(pl.List(pl.String), strict=False).list.to_array(1),
]


def _types(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    column = rng.choice(frame.columns)
    made = frame.with_columns(rng.choice(_TYPES)(pl.col(column)).alias(column))
    nested = [name for name, kind in made.schema.items() if kind.is_nested() or kind == pl.Binary]
    return made if not nested or rng.random() < 0.7 else made.drop(nested)


def _columns(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    column = rng.choice(frame.columns)
    kind = rng.randrange(6)
    if kind == 0:
        return frame.drop(column)
    if kind == 1:
        return frame.rename({column: rng.choice(["", " ", "x", "User", "rank", "é\n", "a" * 500])})
    if kind == 2:
        return frame.with_columns(pl.col(column).alias(rng.choice(["user_id", "rank", "score", "value", "rating"])))
    if kind == 3:
        return frame.select(column)
    if kind == 4:
        return frame.select(reversed(frame.columns))
    return frame.with_columns(**{f"more{n}": pl.lit(n) for n in range(300)})


def _rows(frame: pl.DataFrame, rng: random.Random) -> pl.DataFrame:
    return rng.choice([
        frame.head(0), frame.head(1), frame.head(2), pl.concat([frame, frame]), pl.concat([frame, frame.head(1)]),
        frame.reverse(), frame.sample(fraction=1.0, shuffle=True, seed=rng.randrange(99)), pl.DataFrame(),
    ])  # fmt: skip


def _truncated(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _flipped(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 3, 30])):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _inserted(content: bytes, rng: random.Random) -> bytes:
    piece = rng.choice([
        b"\0", b"\r", b"\n\n", b"\xff\xfe", b"9" * 200_000 + b"x", b"[" * 2000, b"\xef\xbb\xbf",
        b'"', b"," * 9, b"a" * 140_000, b"\t", b"\x1b[2J", b"{", b"\x80",
    ])  # fmt: skip
    at = rng.choice([0, len(content), rng.randrange(len(content) + 1)])
    return content[:at] + piece + content[at:]


def _newlines(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b"\n", rng.choice([b"\r", b"\r\n", b"\n\r", b"\n\n", b" \n", b"", b"\0\n", b"\x0b"]))


def _separators(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b",", rng.choice([b";", b"\t", b"|", b" ", b"::", b",,", b'","', b""]))


def _ragged(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = rng.choice([lines[at] + b",x,y", lines[at].rpartition(b",")[0], b"", b",,,,,", b'"' + lines[at], b"#"])
    return b"\n".join(lines)


def _other(content: bytes, rng: random.Random) -> bytes:
    return rng.choice([
        b"", b"\n", b"\0" * 100, b"PAR1", b"PAR1PAR1", b"PK\x03\x04", b"\x1f\x8b", b"{}", b"[]", b"null",
        b"[" * 100_000,
        b'{"a":' * 5_000, gzip.compress(content), gzip.compress(gzip.compress(b"")), rng.randbytes(500), b"user,item",
        content.decode("utf-8", "replace").encode("utf-16"), content.decode("utf-8", "replace").encode("utf-32"),
        content.decode("utf-8", "replace").encode("utf-16-le"), b"PAR1\xff\xff\xff\x7fPAR1", b"1\n2\n",
        b"user,item,score\n", b"\xff" * 64, b"a" * 300_000, b"," * 100_000, b"user\n" * 3, b"\n" * 10_000,
    ])  # fmt: skip


def _toml_value(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    places = [n for n, line in enumerate(lines) if "=" in line]
    at = rng.choice(places)
    key = lines[at].partition("=")[0]
    odd = ["1", "-1", "0", "1.5", "nan", "inf", "1e300", "9" * 30, '""', '"x"', "[]", "[[]]", "[1, 'a']", "{}", "true",
           "{ a = 1 }", "1979-05-27", '"\\u001b[31m"', '"' + "a" * 5000 + '"', "[" * 2000 + "]" * 2000, "",
           "{ factors = 1000000 }",
           '["ndcg@10", "ndcg@10"]', '["AR-TI-NN99999999999"]', '{ import = "os:system" }', '{ run = "x.csv" }',
           '"/dev/null"',
           '{ import = "nothing:here" }', "[1, 1, 1]", "[" + "1," * 1000 + "]", '"../../x"', "0x10", "1_000", "[-1]",
           "[1.5]"]  # fmt: skip
    lines[at] = f"{key}= {rng.choice(odd)}"
    return "\n".join(lines)


def _toml_lines(text: str, rng: random.Random) -> str:
    lines = text.splitlines()
    at = rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[rng.randrange(len(lines))])
    elif kind == 2:
        odd = ["x = 1", "[x]", "[[data]]", "[systems.als]", "als = { factors = -1 }", "a.b.c.d = 1", "= 1", "[",
               "\x00", "é = 1",
               "itemknn = { neighbours = 0 }", "plsa = { factors = 0 }", 'ease = { "x" = 1 }', "[tune]",
               "[data.columns]",
               "als = { factors = 1000000 }", "\"\" = {}", "'a/b' = {}", '"' + "a" * 300 + '" = {}',
               "level = 2"]  # fmt: skip
        lines.insert(at, rng.choice(odd))
    else:
        lines[at] = lines[at].upper()
    return "\n".join(lines)


def _toml_bytes(text: str, rng: random.Random) -> str:
    return spoil_bytes(text.encode(), rng).decode("utf-8", "surrogateescape")


_FRAMES = [_cells, _cells, _cells, _all_cells, _types, _types, _columns, _rows]
_BYTES = [_truncated, _flipped, _inserted, _inserted, _newlines, _separators, _ragged, _ragged, _other]
_TOMLS = [_toml_value, _toml_value, _toml_lines, _toml_lines, _toml_bytes]


def spoil_place(path: Path, rng: random.Random) -> Path:
    """Another thing than a file where a file was, or another name for it."""
    kind = rng.randrange(7)
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.unlink()
        path.mkdir()
    elif kind == 2:
        path.rename(path.with_name("moved"))
        path.symlink_to(rng.choice(["moved", "nowhere", path.name]))
    elif kind == 3:
        return path.rename(path.with_name(rng.choice(_NAMES)))
    elif kind == 4:
        return Path("a" * 300 + path.suffix)
    elif kind == 5:
        path.unlink()
        os.mkfifo(path)
    else:
        return Path(rng.choice(_ELSEWHERE))
    return path


_NAMES = [
    "a b.csv",
    "-x.csv",
    "é.csv",
    "x",
    "x.xyz",
    ".csv",
    "x.CSV",
    "x.csv.bak",
    os.fsdecode(b"\xff.csv"),
    "\x1b[1m.csv",
    "[x].csv",
    "*.csv",
    "~x.csv",
    "[x].jsonl",
    "a?.parquet",
    "x.csv.gz",
    "x.parquet",
]
_ELSEWHERE = [
    "/dev/null",
    "/dev/full",
    "/dev/zero",
    "/",
    ".",
    "http://127.0.0.1:9/x.csv",
    "s3://x/y.csv",
    "*.csv",
    "[x].csv",
    "~nobody/x.csv",
    "/dev/stdin",
    "file:///etc/passwd",
    "/proc/self/mem",
]
