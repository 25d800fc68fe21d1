"""Archives that somebody made with ill intent or by mistake: refused in words, and nothing is left behind."""

from __future__ import annotations

import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from trueval.data import archive_members
from trueval.data.archives import unpack
from trueval.data.read import read
from trueval.errors import DataError, DefinitionError, OutputError

ROWS = b"user,item\n1,2\n"


def zipped(path: Path, files: Sequence[tuple[str, bytes]], *, flags: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    if flags:  # zipfile does not write encrypted files: mark them so, in both headers
        raw = bytearray(path.read_bytes())
        for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            place = raw.index(mark) + offset
            raw[place] |= flags
        path.write_bytes(bytes(raw))
    return path


def tarred(path: Path, files: Sequence[tuple[str, bytes]], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in files:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def assert_refused(archive: Path, match: str) -> DataError:
    home = archive.parent / "home"
    home.mkdir(exist_ok=True)
    with pytest.raises(DataError, match=match) as caught:
        unpack(archive, home / "target", file_name=archive.name)
    assert list(home.iterdir()) == []
    assert caught.value.where == archive.name
    return caught.value


@pytest.mark.parametrize("make", [zipped, tarred])
def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("TRUEVAL_UNPACKED_GB", "0.001")
    archive = make(tmp_path / ("x.zip" if make is zipped else "x.tar.gz"), [("a.csv", b"0" * 700_000)] * 1)
    unpack(archive, tmp_path / "fits", file_name=archive.name)
    files = [("a.csv", b"0" * 700_000), ("b.csv", b"0" * 700_000)]
    error = assert_refused(make(archive, files), "unpacks to more than it may")
    assert "TRUEVAL_UNPACKED_GB" in error.do


def test_sizes_in_headers_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip that says 10 bytes and holds a million: never more than the limit is written."""
    archive = zipped(tmp_path / "x.zip", [("a.csv", b"0" * 1_000_000)])
    raw = archive.read_bytes()
    archive.write_bytes(raw.replace(struct.pack("<L", 1_000_000), struct.pack("<L", 10)))
    assert_refused(archive, "archive is broken")


def test_a_tar_whose_headers_are_the_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of a file is read into memory by tarfile: it has a limit of its own."""
    monkeypatch.setattr(archive_members, "_HEADERS", 1 << 16)
    archive = tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as opened:
        member = tarfile.TarInfo("a.csv")
        member.pax_headers = {"comment": "x" * 5_000_000}
        opened.addfile(member)
    assert_refused(archive, "unpacks to more than it may")


def test_sparse_files_count_as_they_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEVAL_UNPACKED_GB", "0.001")
    member = tarfile.TarInfo("a.csv")
    member.size = 0
    member.pax_headers = {
        "GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": "0,0", "GNU.sparse.size": str(10**12),
    }  # fmt: skip
    archive = tmp_path / "x.tar"
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as opened:
        opened.addfile(member)
    assert_refused(archive, r"unpacks to more|broken|no data")


def test_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEVAL_UNPACKED_FILES", "3")
    files = [(f"{place}.csv", ROWS) for place in range(4)]
    for archive in (zipped(tmp_path / "x.zip", files), tarred(tmp_path / "x.tar.gz", files)):
        assert "TRUEVAL_UNPACKED_FILES" in assert_refused(archive, "more files than it may").do


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "names",
    [
        ("a.csv", "a.csv"),
        ("a.csv", "./a.csv"),
        ("a.csv", "A.CSV"),
        ("Data/a.csv", "data/A.csv"),
        ("é.csv", "e\u0301.csv"),
        ("a", "a/b.csv"),
        ("a/b.csv", "A"),
    ],
)
def test_two_files_of_one_name(tmp_path: Path, names: tuple[str, str]) -> None:
    files = [(name, ROWS) for name in names]
    assert_refused(zipped(tmp_path / "x.zip", files), "two files of one name")
    assert_refused(tarred(tmp_path / "x.tar", files, "w"), "two files of one name")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("a\nb.csv", "cannot be kept"),
        ("a\x1b[2J.csv", "cannot be kept"),
        ("a\x7f.csv", "cannot be kept"),
        ("x" * 300 + ".csv", "too long"),
        ("ü" * 130 + ".csv", "too long"),
        ("a/" * 40 + "b.csv", "too long"),
    ],
)
def test_names_that_cannot_be_kept(tmp_path: Path, name: str, match: str) -> None:
    error = assert_refused(zipped(tmp_path / "x.zip", [(name, ROWS)]), match)
    assert len(error.found) < 200
    assert "\x1b" not in str(error)
    assert_refused(tarred(tmp_path / "x.tgz", [(name, ROWS)]), match)


def test_a_name_with_a_null_byte(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("a_b.csv", ROWS)])
    archive.write_bytes(archive.read_bytes().replace(b"a_b.csv", b"a\0b.csv"))
    assert_refused(archive, "cannot be kept")


def test_odd_but_harmless_names_are_kept(tmp_path: Path) -> None:
    names = ["Ünï cödé.csv", "b & c.csv", "-rf", "~.csv", "$HOME.csv", ".hidden/a.csv", "日本.csv"]
    archive = zipped(tmp_path / "x.zip", [(name, ROWS) for name in names])
    folder = unpack(archive, tmp_path / "target", file_name=archive.name)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == sorted(names)


def test_encrypted(tmp_path: Path) -> None:
    error = assert_refused(zipped(tmp_path / "x.zip", [("a.csv", ROWS)], flags=1), "encrypted")
    assert "password" in error.do


def test_a_link_in_a_zip(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    assert_refused(tmp_path / "x.zip", "contains a link")


@pytest.mark.parametrize("files", [[], [("a.csv", b"")], [("folder/", b"")]])
def test_nothing_is_no_data_set(tmp_path: Path, files: list[tuple[str, bytes]]) -> None:
    assert_refused(zipped(tmp_path / "x.zip", files), "no data")
    with pytest.raises(DataError, match="no data"):
        read(tmp_path / "x.zip")


def test_broken_archives_of_every_kind(tmp_path: Path) -> None:
    whole = {
        "x.zip": zipped(tmp_path / "x.zip", [("a.csv", ROWS * 500)]),
        "x.tar.gz": tarred(tmp_path / "x.tar.gz", [("a.csv", ROWS * 500)]),
        "x.tar.bz2": tarred(tmp_path / "x.tar.bz2", [("a.csv", ROWS * 500)], "w:bz2"),
        "x.tar.xz": tarred(tmp_path / "x.tar.xz", [("a.csv", ROWS * 500)], "w:xz"),
        "x.tar": tarred(tmp_path / "x.tar", [("a.csv", ROWS * 500)], "w"),
    }
    home = tmp_path / "home"
    home.mkdir()
    for name, archive in whole.items():
        raw = archive.read_bytes()
        for broken in (b"", b"\0", raw[: len(raw) // 2], raw[: len(raw) // 2] + b"\xff" * 40, b"<html>404</html>"):
            archive.write_bytes(broken)
            with pytest.raises(DataError) as caught:
                unpack(archive, home / "target", file_name=name)
            assert caught.value.where == name
            assert list(home.iterdir()) == []


def test_every_bit_of_a_zip_may_be_another(tmp_path: Path) -> None:
    """Whatever is flipped, the answer is the data, or words."""
    raw = zipped(tmp_path / "x.zip", [("a.csv", ROWS * 3), ("b/c.csv", ROWS)]).read_bytes()
    archive = tmp_path / "flipped.zip"
    for place in range(len(raw)):
        archive.write_bytes(raw[:place] + bytes([raw[place] ^ 0x41]) + raw[place + 1 :])
        target = tmp_path / f"t{place}"
        try:
            unpack(archive, target, file_name=archive.name)
        except (DataError, OutputError):
            assert not target.exists()


def test_archives_are_told_by_their_content(tmp_path: Path) -> None:
    """A tar archive whose name says another compression is read as it is."""
    archive = tarred(tmp_path / "x.tar", [("a.csv", ROWS)], "w:xz")
    assert archive.read_bytes()[:6] == lzma.compress(b"")[:6]
    assert (unpack(archive, tmp_path / "target", file_name="x.tar.gz") / "a.csv").read_bytes() == ROWS


def test_messages_name_the_archive_and_not_where_it_was_unpacked(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", [("noise.bin", b"\0\1"), ("other.bin", b"1")])
    with pytest.raises(DataError, match="no known table") as caught:
        read(archive)
    assert caught.value.where == str(archive)
    assert "noise.bin" in caught.value.found
    archive = zipped(tmp_path / "y.zip", [("log.csv", b"a,b\n1,2\n")])
    with pytest.raises(DataError) as caught:
        read(archive)
    assert caught.value.where.startswith(str(archive))


def test_no_place_to_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = zipped(tmp_path / "x.zip", [("log.csv", ROWS)])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(OutputError, match="could not be unpacked") as caught:
        read(archive)
    assert "TMPDIR" in caught.value.do


@pytest.mark.parametrize("text", ["much", "-1", "0", "nan", "inf"])
def test_limits_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    archive = zipped(tmp_path / "x.zip", [("log.csv", ROWS)])
    monkeypatch.setenv("TRUEVAL_UNPACKED_GB", text)
    with pytest.raises(DefinitionError, match="not a limit"):
        read(archive)
