"""Reading logs from files: every format, every way in which a file can be broken."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.data.delimited import shape
from trueval.data.interactions import Interactions
from trueval.data.read import read
from trueval.errors import DataError

ROWS = {"user": [1, 1, 2], "item": ["a", "b", "a"], "value": [5.0, 3.5, 1.0], "time": [100, 200, 300]}
TABLE = pl.DataFrame(ROWS).rename({"user": "userId", "item": "sku", "value": "rating", "time": "timestamp"})


def rows(log: Interactions) -> dict[str, list[object]]:
    return log.frame.to_dict(as_series=False)


def _zstd_lines(path: Path, text: str) -> None:
    """Polars is the only writer of zstd here: one column, no quotes, as csv."""
    lines = pl.DataFrame({"line": text.splitlines()})
    lines.write_csv(path, include_header=False, quote_style="never", compression="zstd")


def write_text(path: Path, text: str) -> None:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    elif path.suffix == ".zst":
        _zstd_lines(path, text)
    else:
        path.write_text(text, encoding="utf-8")


def delimited(separator: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        lines = [TABLE.columns, *TABLE.rows()]
        write_text(path, "".join(separator.join(map(str, line)) + "\n" for line in lines))

    return write


def json_lines(path: Path) -> None:
    write_text(path, TABLE.write_ndjson())


def parquet(path: Path) -> None:
    TABLE.write_parquet(path)


def parquet_gz(path: Path) -> None:
    TABLE.write_parquet(path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))


def atomic(path: Path) -> None:
    head = "userId:token\tsku:token\trating:float\ttimestamp:float\n"
    write_text(path, head + "".join("\t".join(map(str, row)) + "\n" for row in TABLE.rows()))


FORMATS = [
    ("log.csv", delimited(",")),
    ("log.csv", delimited(";")),
    ("log.csv.gz", delimited(",")),
    ("log.csv.zst", delimited(",")),
    ("LOG.CSV", delimited(",")),
    ("log.tsv", delimited("\t")),
    ("log.tsv.gz", delimited("\t")),
    ("log.txt", delimited("\t")),
    ("log.txt", delimited(",")),
    ("log.txt", delimited(";")),
    ("log.txt", delimited("::")),
    ("log.txt.gz", delimited("::")),
    ("log.txt.zst", delimited("::")),
    ("log.txt", delimited(" ")),
    ("log.txt", delimited("|")),
    ("log.parquet", parquet),
    ("log.parquet.gz", parquet_gz),
    ("log.jsonl", json_lines),
    ("log.ndjson", json_lines),
    ("log.jsonl.gz", json_lines),
    ("log.jsonl.zst", json_lines),
    ("log.inter", atomic),
    ("log.inter.gz", atomic),
]


@pytest.mark.parametrize(("name", "write"), FORMATS)
def test_every_format_gives_the_same_log(tmp_path: Path, name: str, write: Callable[[Path], None]) -> None:
    path = tmp_path / name
    write(path)
    log = read(path)
    assert rows(log) == ROWS
    assert log.name == path.name.split(".")[0]
    assert rows(read(str(path), name="other")) == ROWS


def test_qrels_and_run(tmp_path: Path) -> None:
    (tmp_path / "test.qrels").write_text("1 0 a 5\n1\t0\tb  3.5\n2 0 a 1\n")
    assert rows(read(tmp_path / "test.qrels"))["value"] == [5.0, 3.5, 1.0]
    (tmp_path / "sys.run").write_text("1 Q0 a 1 0.9 bpr\n1 Q0 b 2 0.8 bpr\n")
    log = read(tmp_path / "sys.run")
    assert rows(log)["value"] == [0.9, 0.8]
    assert rows(log)["rank"] == [1, 2]


def test_crlf_and_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"\xef\xbb\xbfuser_id,item_id,rating\r\n1,x,4\r\n2,y,5\r\n")
    assert rows(read(path)) == {"user": [1, 2], "item": ["x", "y"], "value": [4.0, 5.0]}


def test_blank_lines_hold_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item,rating\n1,x,4\n\n2,y,5\n\n")
    assert rows(read(path)) == {"user": [1, 2], "item": ["x", "y"], "value": [4.0, 5.0]}


def test_quoted_fields_may_hold_the_separator(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,item,title\n1,"a,b","x ""y"""\n2,c,z\n')
    assert rows(read(path)) == {"user": [1, 2], "item": ["a,b", "c"], "title": ['x "y"', "z"]}


def test_a_type_that_changes_late_is_found(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    body = "".join(f"{row},1,3,7\n" for row in range(11_000))
    path.write_text("user,item,rating,extra\n" + body + "u-last,1,3.5,word\n")
    log = read(path)
    assert log.frame["value"][-1] == 3.5
    assert log.frame["extra"][-1] == "word"
    assert log.frame["user"].dtype == pl.String


# --- ids ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        (["1", "20"], pl.Int64),
        (["007", "8"], pl.String),
        (["0", "8"], pl.Int64),
        (["-5", "8"], pl.Int64),
        (["-0", "8"], pl.String),
        (["+7", "8"], pl.String),
        (["1.0", "2"], pl.String),
        (["9007199254740993", "9007199254740995"], pl.Int64),
        (["18446744073709551615", "1"], pl.UInt64),
        (["18446744073709551616", "1"], pl.String),
        (["1e3", "2"], pl.String),
        (["a", "1"], pl.String),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "txt", "inter", "qrels"])
def test_ids_survive_text_files(tmp_path: Path, suffix: str, written: list[str], kind: pl.DataType) -> None:
    path = tmp_path / f"log.{suffix}"
    line = {"csv": "{},x,1", "txt": "{}::x::1", "inter": "{}\tx\t1", "qrels": "{} 0 x 1"}[suffix]
    head = {
        "csv": "user,item,rating\n",
        "txt": "user::item::rating\n",
        "inter": "user:token\titem:token\trating:float\n",
    }
    path.write_text(head.get(suffix, "") + "".join(line.format(user) + "\n" for user in written))
    users = read(path).frame["user"]
    assert users.dtype == kind
    assert users.cast(pl.String).to_list() == written


@given(st.lists(st.from_regex(r"[-+]?[0-9a]{1,22}", fullmatch=True), min_size=1, max_size=8))
def test_no_id_is_ever_changed_by_csv(tmp_path_factory: pytest.TempPathFactory, written: list[str]) -> None:
    path = tmp_path_factory.mktemp("ids") / "log.csv"
    path.write_text("user,item\n" + "".join(f"{user},x\n" for user in written))
    assert read(path).frame["user"].cast(pl.String).to_list() == written


def test_typed_formats_keep_string_ids(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": ["1", "2"], "item": [2**60 + 1, 3]})
    frame.write_parquet(tmp_path / "log.parquet")
    frame.write_ndjson(tmp_path / "log.jsonl")
    for name in ("log.parquet", "log.jsonl"):
        assert rows(read(tmp_path / name)) == {"user": ["1", "2"], "item": [2**60 + 1, 3]}


# --- headers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["1,10,5\n2,20,3\n", "alice,10,5\nbob,20,3\n", "1,10,5,978300760\n2,20,3,978300761\n"])
def test_without_header_the_columns_must_be_given(tmp_path: Path, body: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(body)
    with pytest.raises(DataError, match="no header") as caught:
        read(path)
    assert "columns={'user': 0, 'item': 1, 'value': 2" in caught.value.do
    assert "--columns user=0,item=1,value=2" in caught.value.do
    log = read(path, columns={"user": 0, "item": 1, "value": 2})
    assert len(log) == 2
    assert rows(log)["value"] == [5.0, 3.0]
    assert rows(read(path, columns="user=0,item=1,value=2")) == rows(log)


@pytest.mark.parametrize("first", ["alice,book,,", "alice,,5,", "alice,book, ,1000", ",book,,"])
def test_a_first_row_with_empty_fields_is_a_row(tmp_path: Path, first: str) -> None:
    """Names of columns are not empty, so it has none of them, even if the row below it has numbers there."""
    path = tmp_path / "log.csv"
    path.write_text(first + "\nbob,lamp,3,1001\n")
    with pytest.raises(DataError, match="no header"):
        read(path)
    form = shape(path, {"user": 0, "item": 1})
    assert (form.header, form.separator) == (False, ",")
    assert len(form.names) == 4


def test_an_empty_rating_in_the_first_row_loses_no_row(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("alice,book,\nbob,lamp,3\n")
    assert rows(read(path, columns="user=0,item=1"))["user"] == ["alice", "bob"]


def test_words_only_without_header(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("alice,book\nbob,lamp\n")
    with pytest.raises(DataError, match="there is no user column"):
        read(path)
    assert rows(read(path, columns="user=0,item=1")) == {"user": ["alice", "bob"], "item": ["book", "lamp"]}


def test_positions_with_a_header(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("who,what,how much\n1,7,5\n2,8,3\n")
    assert rows(read(path, columns={"user": 0, "item": 1, "value": 2})) == {
        "user": [1, 2],
        "item": [7, 8],
        "value": [5.0, 3.0],
    }


def test_extra_columns_travel_along(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,uid,item,colour\nAnn,1,7,red\nBob,2,8,blue\n")
    log = read(path, columns={"user": "uid"})
    assert rows(log) == {"user": [1, 2], "item": [7, 8], "source_user": ["Ann", "Bob"], "colour": ["red", "blue"]}


# --- broken ------------------------------------------------------------------------------------------------------


def truncated_parquet() -> bytes:
    import io

    buffer = io.BytesIO()
    pl.DataFrame({"user": range(1000), "item": range(1000)}).write_parquet(buffer)
    return buffer.getvalue()[:-200]


def corrupted_parquet() -> bytes:
    import io

    buffer = io.BytesIO()
    pl.DataFrame({"user": range(1000), "item": range(1000)}).write_parquet(buffer)
    raw = bytearray(buffer.getvalue())
    raw[10:400] = b"\xff" * 390
    return bytes(raw)


BROKEN = [
    ("log.csv", b"", "empty"),
    ("log.csv", b"\n\n", "empty"),
    ("log.csv", b"user,item\n", "empty"),
    ("log.txt", b"", "empty"),
    ("log.jsonl", b"", "empty"),
    ("log.parquet", b"", "empty"),
    ("log.qrels", b"", "empty"),
    ("log.inter", b"", "empty"),
    ("log.inter", b"user_id:token\titem_id:token\n", "empty"),
    ("log.parquet", b"not parquet at all", "could not be read"),
    ("log.parquet", truncated_parquet(), "could not be read"),
    ("log.parquet", corrupted_parquet(), "could not be read"),
    ("log.parquet.gz", b"no gzip", "could not be read"),
    ("log.csv.gz", gzip.compress(b"user,item\n" + b"1,2\n" * 9999, mtime=0)[:-30], "could not be read"),
    ("log.csv", "user,item\nJosé,1\n".encode("latin-1"), "could not be read"),
    ("log.csv", b"user,item\n1,2\n1,2,3\n", "could not be read"),
    ("log.jsonl", b'{"user": 1, "item": 2}\n{"user": 1, "it', "could not be read"),
    ("log.jsonl", b"[1, 2, 3]\n", "could not be read|no user column"),
    ("log.csv", b"user\n1\n2\n", "single column"),
    ("log.csv", b"user,item,item\n1,2,3\n", "same name"),
    ("log.csv", b"user,item,rating\n1,2,good\n", "finite"),
    ("log.csv", b"user,item,rating\n1,2,\n", "finite"),
    ("log.csv", b"user,item,rating\n1,2,inf\n", "finite"),
    ("log.csv", b"user,item\n1,\n2,3\n", "item ids are missing"),
    ("log.csv", b"user,item\n,1\n2,3\n", "user ids are missing"),
    ("log.csv", b"user,item,time\n1,2,yesterday\n", "times could not be read"),
    ("log.csv", b"user,item,time\n1,2,nan\n1,3,0.5\n", "times could not be read"),
    ("log.qrels", b"1 0 a 1\n1 0 a\n", "4 fields"),
    ("log.qrels", b"1 0 a 1 7\n", "4 fields"),
    ("log.qrels", b"1 0 a x\n", "finite"),
    ("log.txt", b"user::item\n1::2\n1::2::3\n", "2 fields"),
    ("log.inter", b"user_id:token\titem_id:wat\n1\t2\n", "unknown column type"),
    ("log.xlsx", b"PK", "unknown file format"),
    ("log", b"user,item\n1,2\n", "unknown file format"),
]


@pytest.mark.parametrize(("name", "content", "message"), BROKEN)
def test_broken_files_are_explained(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    error = caught.value
    assert error.where
    assert error.found
    assert error.do
    assert "log" in error.where


def test_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("user,item\n1,2\n")
    with pytest.raises(DataError, match="no such file") as caught:
        read(tmp_path / "rating.csv")
    assert "ratings.csv" in caught.value.do
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "nowhere" / "x.csv")


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,item\n1,2\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pl, "scan_csv", refuse)
    with pytest.raises(DataError, match="no permission to read"):
        read(path)


def test_folder_of_parts(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for part in range(3):
        pl.DataFrame({"user_id": [part], "item_id": [7]}).write_parquet(folder / f"part-{part:05}.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "x.parquet").write_bytes(b"half written")
    log = read(folder)
    assert rows(log) == {"user": [0, 1, 2], "item": [7, 7, 7]}
    assert log.name == "out"


def test_hive_partitions_are_columns(tmp_path: Path) -> None:
    for day in ("1", "2"):
        (tmp_path / "out" / f"day={day}").mkdir(parents=True)
        pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / "out" / f"day={day}" / "a.parquet")
    assert sorted(rows(read(tmp_path / "out"))["day"]) == [1, 2]


def test_a_split_is_not_read_as_one_log(tmp_path: Path) -> None:
    for name in ("train", "test"):
        pl.DataFrame({"user": [1], "item": [2]}).write_parquet(tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match="contains a split"):
        read(tmp_path)


def test_folder_of_nothing_known(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    with pytest.raises(DataError, match="no known table") as caught:
        read(tmp_path)
    assert "notes.md" in caught.value.found
