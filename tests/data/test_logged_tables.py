"""Folders with a log that says which rows count: the rows that were overwritten are never among those read."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

import trueval as tv
from trueval.data.items import read_items
from trueval.data.read import read
from trueval.data.run_tables import read_run, scan_run
from trueval.data.users import read_users
from trueval.errors import DataError, TruevalError

Writer = Callable[..., Path]
KINDS = ("delta", "iceberg")


def write_delta(folder: Path, old: pl.DataFrame, now: pl.DataFrame, *, by: str | None = None) -> Path:
    """A Delta table whose first version was overwritten, and from which a row was then deleted."""
    deltalake = pytest.importorskip("deltalake")
    how = {} if by is None else {"partition_by": [by]}
    # What is deleted again: the first row, once more, with a mark.
    marked = pl.concat([now, now.head(1)]).with_columns(gone=pl.int_range(pl.len()) == len(now))
    old.with_columns(gone=False).write_delta(folder, delta_write_options=how)
    marked.write_delta(folder, mode="overwrite", delta_write_options=how)
    deltalake.DeltaTable(folder).delete("gone")
    return folder


def write_iceberg(folder: Path, old: pl.DataFrame, now: pl.DataFrame, *, by: str | None = None) -> Path:
    """The same as an Iceberg table."""
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse=folder.parent.as_uri())
    catalog.create_namespace("n")
    first = old.with_columns(gone=False).to_arrow()
    table = catalog.create_table("n.t", schema=first.schema, location=f"file://{folder}")
    if by is not None:
        with table.update_spec() as spec:
            spec.add_identity(by)
    table.append(first)
    marked = pl.concat([now, now.head(1)]).with_columns(gone=pl.int_range(pl.len()) == len(now))
    table.overwrite(marked.to_arrow())
    table.delete("gone == true")
    return folder


WRITERS: dict[str, Writer] = {"delta": write_delta, "iceberg": write_iceberg}
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LOG = pl.DataFrame({
    "user": ["u", "u", "v", "w"], "item": [7, 8, 7, 9], "value": [5.0, 1.0, 3.0, 4.0],
    "time": [NOON, NOON.replace(hour=13), NOON.replace(day=2), NOON.replace(year=2025)],
    "country": ["New Land/50%", "New Land/50%", None, "a=b"], "day": [NOON.date(), None, NOON.date(), NOON.date()],
})  # fmt: skip
OLD = LOG.with_columns(value=5.0 - pl.col("value"), item=pl.col("item") + 100)


@pytest.mark.parametrize("by", [None, "country", "user", "item", "day"])
@pytest.mark.parametrize("kind", KINDS)
def test_only_rows_of_the_current_version_count(tmp_path: Path, kind: str, by: str | None) -> None:
    table = WRITERS[kind](tmp_path / "a b" / ("t#1" if kind == "delta" else "t"), OLD, LOG, by=by)
    assert len(list(table.rglob("*.parquet"))) > 1
    columns = ["user", "item", "value", "time"]
    wanted = read(LOG.select(columns)).frame.sort("user", "item")
    assert read(table).frame.select(columns).sort("user", "item").equals(wanted)
    both = read(table).frame.sort("user", "item")
    assert both["country"].to_list() == LOG["country"].to_list()
    assert both["day"].to_list() == LOG["day"].to_list()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_were_added_and_renamed(tmp_path: Path, kind: str) -> None:
    first = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    later = pl.DataFrame({"user": [3], "item": ["c"], "page": [4]})
    if kind == "delta":
        pytest.importorskip("deltalake")
        first.write_delta(tmp_path / "t")
        later.write_delta(tmp_path / "t", mode="append", delta_write_options={"schema_mode": "merge"})
    else:
        pytest.importorskip("pyiceberg")
        from pyiceberg.catalog.sql import SqlCatalog
        from pyiceberg.types import LongType

        catalog = SqlCatalog("c", uri="sqlite:///:memory:", warehouse=tmp_path.as_uri())
        catalog.create_namespace("n")
        table = catalog.create_table(
            "n.t", schema=first.rename({"item": "thing"}).to_arrow().schema, location=(tmp_path / "t").as_uri()
        )
        table.append(first.rename({"item": "thing"}).to_arrow())
        with table.update_schema() as change:
            change.rename_column("thing", "item")
            change.add_column("page", LongType())
        table.append(later.to_arrow())
    found = read(tmp_path / "t").frame.sort("user")
    assert found.to_dict(as_series=False) == {"user": [1, 2, 3], "item": ["a", "b", "c"], "page": [None, None, 4]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_rows_is_empty(tmp_path: Path, kind: str) -> None:
    table = WRITERS[kind](tmp_path / "t", OLD, LOG.head(0))
    with pytest.raises(DataError, match="the table is empty"):
        read(table)


# Six users whose lists are right now, and were wrong before.
_USERS = [1, 2, 3, 4, 5, 6]
_PAIRS = [(user, item) for user in _USERS for item in range(4)]
TABLES: dict[str, tuple[pl.DataFrame, pl.DataFrame]] = {}


def _table(name: str, now: pl.DataFrame, old: pl.DataFrame) -> None:
    TABLES[name] = old, now


_table(
    "test", pl.DataFrame({"user": _USERS, "item": [user % 4 for user in _USERS]}),
    pl.DataFrame({"user": _USERS, "item": [(user + 1) % 4 for user in _USERS]}),
)  # fmt: skip
_table(
    "recs",
    pl.DataFrame([(u, i, float(i == u % 4)) for u, i in _PAIRS], ["user", "item", "score"], orient="row"),
    pl.DataFrame([(u, i, -2.0 * (i == u % 4)) for u, i in _PAIRS], ["user", "item", "score"], orient="row"),
)
_table(
    "train", pl.DataFrame({"user": _USERS, "item": [(u + 2) % 4 for u in _USERS], "time": _USERS}),
    pl.DataFrame({"user": _USERS, "item": [(u + 3) % 4 for u in _USERS], "time": _USERS}),
)  # fmt: skip
_table(
    "items", pl.DataFrame({"item": [0, 1, 2, 3, 4], "genre": ["a", "b", "a", "b", "c"]}),
    pl.DataFrame({"item": [0, 1, 2, 3, 5], "genre": ["a", "a", "c", "c", "c"]}),
)  # fmt: skip
_table(
    "users", pl.DataFrame({"user": _USERS[:4], "sex": ["f", "m", "f", "m"]}),
    pl.DataFrame({"user": _USERS, "sex": ["m", "m", "m", "f", "f", "f"]}),
)  # fmt: skip
_table(
    "propensity", pl.DataFrame({"item": [0, 1, 2, 3], "p": [0.5, 0.25, 0.5, 0.125]}),
    pl.DataFrame({"item": [0, 1, 2, 3], "p": [0.1, 0.1, 0.9, 0.9]}),
)  # fmt: skip
_chances = [0.1 + 0.03 * n for n in range(len(_PAIRS))]
_table(
    "predictions",
    pl.DataFrame({"prediction": _chances, "label": [float(n % 3 == 0) for n in range(len(_PAIRS))]}),
    pl.DataFrame({"prediction": _chances, "label": [float(n % 3 == 1) for n in range(len(_PAIRS))]}),
)
_table(
    "validation",
    pl.DataFrame({"prediction": [p + 0.01 for p in _chances], "label": [float(n % 2 + n > 12) for n in range(24)]}),
    pl.DataFrame({"prediction": [p + 0.01 for p in _chances], "label": [float(n % 4 + n > 20) for n in range(24)]}),
)
_shown = pl.DataFrame(_PAIRS, ["user", "item"], orient="row")
_table(
    "policy", _shown.with_columns(probability=pl.col("item") / 6), _shown.with_columns(probability=0.25),
)  # fmt: skip
_table(
    "bandit", _shown.with_columns(reward=(pl.col("user") == pl.col("item")).cast(pl.Float64), propensity=0.25),
    _shown.with_columns(reward=1.0, propensity=0.5),
)  # fmt: skip
_table(
    "arms", pl.DataFrame({"arm": ["a", "b"] * 12, "clicks": [n % 5 for n in range(24)]}),
    pl.DataFrame({"arm": ["a", "b"] * 12, "clicks": [n % 7 for n in range(24)]}),
)  # fmt: skip

_LISTS = ("evaluate", "{recs}", "--test", "{test}", "--train", "{train}", "--format", "json")
COMMANDS: dict[str, tuple[str, ...]] = {
    "evaluate": _LISTS,
    "evaluate in chunks": (*_LISTS, "--sorted-by-user"),
    "evaluate with items": (*_LISTS, "--items", "{items}", "--by", "genre", "--min-group", "1"),
    "evaluate with users": (*_LISTS, "--users", "{users}", "--by", "sex", "--min-group", "1"),
    "evaluate with propensities": (
        "evaluate", "{recs}", "--test", "{test}", "--metrics", "snips(recall)@2", "--propensity", "{propensity}",
        "--format", "json",
    ),
    "audit": (
        "audit", "--recs", "{recs}", "--test", "{test}", "--train", "{train}", "--items", "{items}", "--users",
        "{users}", "--by", "sex", "--format", "json",
    ),
    "calibrate": ("calibrate", "{predictions}", "--validation", "{validation}", "--format", "json"),
    "ope": ("ope", "{bandit}", "--target", "{policy}", "--format", "json"),
    "ab": ("ab", "{arms}", "--arm", "arm", "--metrics", "clicks", "--format", "json"),
    "track": ("track", "{train}", "{test}", "--items", "{items}", "--by", "genre", "--format", "json"),
    "track periods": ("track", "{train}", "--periods", "2", "--format", "json"),
    "data info": ("data", "info", "{train}"),
}  # fmt: skip


def _numbers(text: str) -> object:
    """What a command measured: without what tells of the files."""
    if not text.startswith("{"):
        return text
    record = json.loads(text)
    record.pop("manifest", None)
    return record


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_measure_what_they_do_of_files(trueval, tmp_path: Path, kind: str, command: str) -> None:
    outcomes = []
    used = {name for name in TABLES if f"{{{name}}}" in COMMANDS[command]}
    for form in ("files", kind, "old"):
        places = {}
        for name in used:
            (tmp_path / form).mkdir(exist_ok=True)
            old, now = TABLES[name]
            if form == kind:
                places[name] = WRITERS[kind](tmp_path / form / name, old, now)
            else:
                places[name] = tmp_path / form / f"{name}.parquet"
                (now if form == "files" else old).with_columns(gone=False).write_parquet(places[name])
        ran = trueval(*(word.format(**places) for word in COMMANDS[command]))
        assert ran.code == 0, ran.err
        plain = ran.out.replace(str(tmp_path / form), "").replace(".parquet", "")
        outcomes.append(_numbers(plain))
    assert outcomes[1] == outcomes[0]
    if command not in ("track periods", "data info"):  # which the same pattern of items does not change
        assert outcomes[2] != outcomes[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_perfect_list_is_perfect(tmp_path: Path, kind: str) -> None:
    """The lists that were overwritten have every relevant item last."""
    recs = WRITERS[kind](tmp_path / "recs", *TABLES["recs"])
    assert tv.evaluate_run(recs, TABLES["test"][1], metrics="ndcg@2", interval="none")["recs", "ndcg@2"].value == 1
    lists = read_run(recs).sort("user", "item")
    assert scan_run(recs).collect().sort("user", "item").equals(lists)
    assert read_users(WRITERS[kind](tmp_path / "users", *TABLES["users"]))["user"].sort().to_list() == [1, 2, 3, 4]
    assert read_items(WRITERS[kind](tmp_path / "items", *TABLES["items"]))["item"].sort().to_list() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_snapshots_may_hold_tables(tmp_path: Path, kind: str) -> None:
    snapshots, files = tmp_path / "snapshots", tmp_path / "files"
    snapshots.mkdir()
    files.mkdir()
    for name in ("train", "test"):
        WRITERS[kind](snapshots / name, *TABLES[name])
        TABLES[name][1].write_parquet(files / f"{name}.parquet")
    assert tv.track(snapshots).to_polars().equals(tv.track(files).to_polars())


def _part(folder: Path, name: str = "part-0.parquet") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    LOG.select("user", "item").write_parquet(folder / name)


def _file(path: Path, text: str = "{}") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _hudi(folder: Path) -> None:
    _file(folder / ".hoodie" / "hoodie.properties", "hoodie.table.name=t")


def _paimon(folder: Path) -> None:
    for name in ("snapshot/snapshot-1", "schema/schema-0", "manifest/manifest-1-0"):
        _file(folder / name)
    _part(folder / "bucket-0", "data-1-0.parquet")


def _hive(folder: Path) -> None:
    _part(folder / "delta_0000002_0000002_0000")


def _streamed(folder: Path) -> None:
    _file(folder / "_spark_metadata" / "0", "v1")


def _lance(folder: Path) -> None:
    _file(folder / "_versions" / "1.manifest")


def _hidden(folder: Path) -> None:
    _file(folder / ".commits" / "00000000000000000001.json")


def _ducklake(folder: Path) -> None:
    _part(folder, "ducklake-0190.parquet")


def _removed(folder: Path) -> None:
    _part(folder, "part-00001-tid-11-a.parquet")
    _file(folder / "_committed_22", json.dumps({"added": [], "removed": ["part-00001-tid-11-a.parquet"]}))


def _unfinished(folder: Path) -> None:
    _part(folder, "part-00001-tid-11-a.parquet")
    _file(folder / "_started_11", "")


UNKNOWN = {
    "Hudi": _hudi, "Paimon": _paimon, "Hive": _hive, "_spark_metadata": _streamed, "_versions": _lance,
    ".commits": _hidden, "DuckLake": _ducklake, "leaves out part-00001": _removed,
    "leaves out part-00001-tid": _unfinished,
}  # fmt: skip


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", UNKNOWN)
def test_logs_that_cannot_be_read_are_refused(trueval, tmp_path: Path, kind: str, inside: bool) -> None:
    table = tmp_path / "given" / "inside" if inside else tmp_path / "given"
    _part(table)
    UNKNOWN[kind](table)
    for source in (read, read_run, read_items, read_users):
        with pytest.raises(DataError, match=kind) as refused:
            source(tmp_path / "given")
        assert "write its current rows as parquet" in refused.value.do
    ran = trueval("evaluate", tmp_path / "given", "--test", tmp_path / "given")
    assert (ran.code, kind in ran.err) == (2, True)


def test_what_engines_leave_beside_parts_is_no_log(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    _part(folder / "day=1")
    _part(folder / "day=2")
    for name in (
        "_SUCCESS", "_metadata", "_common_metadata", ".part-0.parquet.crc", "_temporary/0/part-1.parquet",
        ".git/config", ".vscode/settings.json", ".cache/12.json",
        "metadata/genres.metadata.json", "__pycache__/1.json", "schema/one.json",
    ):  # fmt: skip
        _file(folder / name)
    _file(folder / "day=1" / "_started_11", "")
    _file(folder / "day=1" / "_committed_11", json.dumps({"added": ["part-0.parquet"], "removed": ["gone.parquet"]}))
    assert len(read(folder)) == 2 * len(LOG)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_a_table_is_refused_with_the_table(tmp_path: Path, kind: str) -> None:
    table = WRITERS[kind](tmp_path / "t", OLD, LOG, by="user")
    part = next(path.parent for path in sorted(table.rglob("*.parquet")))
    with pytest.raises(DataError, match="a part of a table") as refused:
        read(part)
    assert refused.value.do == f"give {table}"
    for file in sorted(
        table.rglob("*.parquet")
    ):  # the files of the rows that were overwritten, and of those that count
        with pytest.raises(DataError, match="the file is a part of a table") as refused:
            read(file)
        assert refused.value.do == f"give {table}"
    with pytest.raises(DataError, match="holds a table with a log") as refused:
        read(tmp_path)
    assert str(table) in refused.value.do


@pytest.mark.parametrize(("kind", "library"), [("delta", "deltalake"), ("iceberg", "pyiceberg.table")])
def test_a_table_without_its_library_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, library: str
) -> None:
    _part(tmp_path / "t")
    _file(tmp_path / "t" / "_delta_log" / "00000000000000000000.json")
    if kind == "iceberg":
        shutil.rmtree(tmp_path / "t" / "_delta_log")
        _file(tmp_path / "t" / "metadata" / "v1.metadata.json")
    monkeypatch.setitem(sys.modules, library.partition(".")[0], None)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(DataError, match=f"pip install 'trueval.{kind}.'"):
        read(tmp_path / "t")


def _change_log(table: Path, change: Callable[[dict[str, dict[str, object]]], object]) -> None:
    for file in (table / "_delta_log").glob("*.json"):
        entries = [json.loads(line) for line in file.read_text().splitlines()]
        for entry in entries:
            change(entry)
        file.write_text("\n".join(map(json.dumps, entries)))


def test_delta_tables_that_cannot_be_read(tmp_path: Path) -> None:
    def mapped(entry: dict[str, dict[str, object]]) -> None:
        entry.get("protocol", {}).update(minReaderVersion=2, minWriterVersion=5)

    def abroad(entry: dict[str, dict[str, object]]) -> None:
        if "add" in entry:
            entry["add"]["path"] = "s3://elsewhere/a.parquet"

    def gone(entry: dict[str, dict[str, object]]) -> None:
        if "add" in entry:
            entry["add"]["path"] = "gone.parquet"

    for name, change, found in (
        ("mapped", mapped, "column mapping"), ("abroad", abroad, "s3:"), ("gone", gone, "not there"),
    ):  # fmt: skip
        table = write_delta(tmp_path / name, OLD, LOG)
        _change_log(table, change)
        with pytest.raises(TruevalError, match=found) as refused:
            read(table)
        assert "write its current rows as parquet" in refused.value.do
    (tmp_path / "broken" / "_delta_log").mkdir(parents=True)
    _file(tmp_path / "broken" / "_delta_log" / "00000000000000000000.json", "{no json")
    with pytest.raises(TruevalError, match="could not be read as a Delta table"):
        read(tmp_path / "broken")


def _newest(table: Path) -> Path:
    return max((table / "metadata").glob("*.metadata.json"))


def test_versions_of_iceberg_tables(tmp_path: Path) -> None:
    table = write_iceberg(tmp_path / "t", OLD, LOG)
    newest = _newest(table)
    earlier = sorted((table / "metadata").glob("00001-*.metadata.json"))
    assert sorted(read(earlier[0]).frame["item"]) == sorted(OLD["item"])  # a version may be given by its file
    twin = newest.with_name(newest.name[:6] + "0" * 8 + newest.name[14:])
    shutil.copy(newest, twin)
    with pytest.raises(DataError, match="two newest versions") as refused:
        read(table)
    assert sorted(read(refused.value.do.removeprefix("give the right one: ")).frame["item"]) == sorted(LOG["item"])
    twin.unlink()
    (tmp_path / "moved").mkdir()
    shutil.move(table, tmp_path / "moved" / "t")
    with pytest.raises(DataError, match="not there"):
        read(tmp_path / "moved" / "t")
    shutil.move(tmp_path / "moved" / "t", table)
    assert sorted(read(table).frame["item"]) == sorted(LOG["item"])


def test_nothing_in_iceberg_metadata_is_run_or_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_iceberg(tmp_path / "t", OLD, LOG)
    record = json.loads(_newest(table).read_text())
    _file(tmp_path / "evil.py", f"open({str(tmp_path / 'ran')!r}, 'w').close()\nFiles = dict")
    monkeypatch.syspath_prepend(str(tmp_path))
    record["properties"]["py-io-impl"] = "evil.Files"
    _newest(table).write_text(json.dumps(record))
    assert sorted(read(table).frame["item"]) == sorted(LOG["item"])
    assert not (tmp_path / "ran").exists()
    for snapshot in record["snapshots"]:
        snapshot["manifest-list"] = "s3://elsewhere/list.avro"
    _newest(table).write_text(json.dumps(record))
    with pytest.raises(DataError, match="names an address"):
        read(table)
    _newest(table).write_text("{")
    with pytest.raises(DataError, match="could not be read as an Iceberg table"):
        read(table)


def _z85(raw: bytes) -> str:
    """Groups of four bytes as five digits to the base 85, in the alphabet of Delta's deletion vectors."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    groups = (int.from_bytes(raw[at : at + 4], "big") for at in range(0, len(raw), 4))
    return "".join(digits[group // 85**power % 85] for group in groups for power in (4, 3, 2, 1, 0))


def test_deletion_vectors_of_delta_tables(tmp_path: Path) -> None:
    """A vector in the log marks the rows 1 and 3 of the only file as deleted."""
    pytest.importorskip("deltalake")
    bitmaps = pytest.importorskip("pyroaring")
    table = tmp_path / "a b"
    LOG.write_delta(table)
    bitmap = bitmaps.BitMap([1, 3]).serialize()
    raw = struct.pack("<iqi", 1681511377, 1, 0) + bitmap
    raw += bytes(-len(raw) % 4)
    vector = {"storageType": "i", "pathOrInlineDv": _z85(raw), "sizeInBytes": len(raw), "cardinality": 2}

    def mark(entry: dict[str, dict[str, object]]) -> None:
        entry.get("add", {})["deletionVector"] = vector
        features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
        entry.get("protocol", {}).update(minReaderVersion=3, minWriterVersion=7, **features)

    _change_log(table, mark)
    assert read(table).frame["item"].to_list() == [LOG["item"][0], LOG["item"][2]]


def test_partitions_that_folders_do_not_tell(tmp_path: Path) -> None:
    """Values of partition columns are in the log, and folders may be named otherwise."""
    table = write_delta(tmp_path / "t", OLD, LOG, by="country")

    def move(entry: dict[str, dict[str, object]]) -> None:
        for kind in ("add", "remove"):
            if (path := str(entry.get(kind, {}).get("path"))) != "None":
                old, new = table / unquote(path), table / Path(path).name
                if old.exists():
                    old.rename(new)
                entry[kind]["path"] = new.name

    _change_log(table, move)
    with pytest.raises(DataError, match="do not tell the country"):
        read(table)
