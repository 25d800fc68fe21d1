"""Downloads, against a local server that can break in every way."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from trueval.data import download, web
from trueval.data.datasets import CATALOGUE, data_home
from trueval.data.download import get
from trueval.data.read import read
from trueval.errors import DataError, DefinitionError, OutputError


@dataclass
class Site:
    """What the local server serves, how it fails, and what it was asked."""

    files: dict[str, bytes] = field(default_factory=dict)
    etag: str | None = '"v1"'
    modified: str | None = None
    ranges: bool = True
    drop_after: list[int] = field(default_factory=list)  # bytes to send before closing, per request
    fail_with: list[int] = field(default_factory=list)  # status codes, per request
    asked: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    url: str = ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        site = self.site
        wanted, condition = self.headers.get("Range"), self.headers.get("If-Range")
        site.asked.append((self.path, wanted, condition))
        if site.fail_with:
            self.send_error(site.fail_with.pop(0))
            return
        body = site.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = 0
        validators = [tag for tag in (site.etag, site.modified) if tag]
        if wanted and site.ranges and (condition is None or condition in validators):
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        if site.etag:
            self.send_header("ETag", site.etag)
        if site.modified:
            self.send_header("Last-Modified", site.modified)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        stop = start + site.drop_after.pop(0) if site.drop_after else len(body)
        self.wfile.write(body[start:stop])
        if stop < len(body):
            self.close_connection = True


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    site = Site()
    handler = type("SiteHandler", (Handler,), {"site": site})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_port}"
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


DATA = b"1\t2\t3\t4\n" * 1
NOISE = hashlib.shake_128(b"noise").digest(200_000)  # does not compress, so that a drop falls inside the file
ZIP = zipped({"mine/u.data": DATA, "mine/noise.bin": NOISE})


def left(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir())


def md5(content: bytes) -> str:
    return "md5:" + hashlib.md5(content).hexdigest()


def test_fetch_check_unpack_and_read(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.files["/mine.zip"] = ZIP
    monkeypatch.setenv("TRUEVAL_HOME", str(tmp_path / "home"))
    folder = get("mine", url=f"{site.url}/mine.zip", checksum=md5(ZIP))
    assert folder == data_home() / "mine"
    assert left(tmp_path / "home") == ["mine"]
    assert (folder / "noise.bin").read_bytes() == NOISE
    assert read("mine").frame.rows() == [(1, 2, 3.0, 4)]
    assert get("mine", url=f"{site.url}/mine.zip") == folder
    assert len(site.asked) == 1  # the second call found it in place


@pytest.mark.parametrize("kind", ["md5", "sha1", "sha256"])
def test_any_usual_checksum(site: Site, tmp_path: Path, kind: str) -> None:
    site.files["/mine.zip"] = ZIP
    digest = hashlib.new(kind, ZIP).hexdigest()
    for name, checksum in (("a", f"{kind}:{digest}"), ("b", digest.upper())):
        assert get(name, home=tmp_path, url=f"{site.url}/mine.zip", checksum=checksum).is_dir()


def test_checksum_from_a_published_file(site: Site, tmp_path: Path) -> None:
    site.files["/mine.zip"] = ZIP
    site.files["/mine.zip.md5"] = f"MD5 (mine.zip) = {hashlib.md5(ZIP).hexdigest()}\n".encode()
    get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=f"{site.url}/mine.zip.md5")
    site.files["/mine.zip.md5"] = b"0" * 32 + b"  mine.zip\n"
    with pytest.raises(DataError, match="does not match its published checksum"):
        get("again", home=tmp_path, url=f"{site.url}/mine.zip", checksum=f"{site.url}/mine.zip.md5")
    for published in (b"<html>not found</html>", None):
        if published is None:
            del site.files["/mine.zip.md5"]
        else:
            site.files["/mine.zip.md5"] = published
        with pytest.raises(DataError, match="checksum"):
            get("again", home=tmp_path, url=f"{site.url}/mine.zip", checksum=f"{site.url}/mine.zip.md5")
    assert left(tmp_path) == ["mine"]


def test_a_dropped_connection_is_continued_at_once(site: Site, tmp_path: Path) -> None:
    site.files["/mine.zip"] = ZIP
    site.drop_after = [50_000, 70_000]
    folder = get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=md5(ZIP))
    assert (folder / "noise.bin").read_bytes() == NOISE
    assert [wanted for _, wanted, _ in site.asked] == [None, "bytes=50000-", "bytes=120000-"]
    assert {condition for _, _, condition in site.asked[1:]} == {'"v1"'}


@pytest.mark.parametrize("etag", ['"v1"', None])
def test_an_interrupted_download_is_continued_by_the_next_call(site: Site, tmp_path: Path, etag: str | None) -> None:
    site.files["/mine.zip"] = ZIP
    site.etag, site.modified = etag, "Wed, 21 Oct 2015 07:28:00 GMT"
    site.drop_after = [40_000, 0, 0, 0]
    with pytest.raises(DataError, match="did not finish") as caught:
        get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=md5(ZIP))
    assert "40,000 bytes" in caught.value.do
    parts = left(tmp_path)
    assert len(parts) == 1
    assert parts[0].startswith("mine.zip.")
    assert parts[0].endswith(".part")
    site.asked.clear()
    get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=md5(ZIP))
    assert [wanted for _, wanted, _ in site.asked] == ["bytes=40000-"]
    assert left(tmp_path) == ["mine"]


def test_a_changed_file_is_fetched_from_the_start(site: Site, tmp_path: Path) -> None:
    site.files["/mine.zip"] = ZIP
    site.drop_after = [40_000, 0, 0, 0]
    with pytest.raises(DataError):
        get("mine", home=tmp_path, url=f"{site.url}/mine.zip")
    new = zipped({"u.data": DATA * 2, "noise.bin": NOISE[::-1]})
    site.files["/mine.zip"], site.etag = new, '"v2"'
    folder = get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=md5(new))
    assert (folder / "noise.bin").read_bytes() == NOISE[::-1]
    assert left(tmp_path) == ["mine"]


@pytest.mark.parametrize("how", ["no ranges", "no validator", "weak validator"])
def test_servers_that_cannot_continue(site: Site, tmp_path: Path, how: str) -> None:
    site.files["/mine.zip"] = ZIP
    site.ranges = how != "no ranges"
    site.etag = {"no ranges": '"v1"', "no validator": None, "weak validator": 'W/"v1"'}[how]
    site.drop_after = [40_000]
    folder = get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=md5(ZIP))
    assert (folder / "noise.bin").read_bytes() == NOISE
    assert left(tmp_path) == ["mine"]


def test_a_whole_part_is_not_fetched_again(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.files["/mine.zip"] = ZIP

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(download, "unpack", interrupted)
        with pytest.raises(KeyboardInterrupt):
            get("mine", home=tmp_path, url=f"{site.url}/mine.zip")
    assert [name.endswith(".part") for name in left(tmp_path)] == [True]
    get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=md5(ZIP))
    assert site.asked[-1][1] == f"bytes={len(ZIP)}-"
    assert left(tmp_path) == ["mine"]


def test_interrupt_while_receiving_leaves_only_the_part(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.files["/mine.zip"] = ZIP
    monkeypatch.setattr(web, "_CHUNK", 10_000)
    read_chunk, calls = download.http.client.HTTPResponse.read1, []

    def read_then_interrupt(self: object, amount: int = -1) -> bytes:
        if sum(calls) >= 30_000:
            raise KeyboardInterrupt
        piece = read_chunk(self, min(amount, 30_000 - sum(calls)))  # type: ignore[arg-type]
        calls.append(len(piece))
        return piece

    with monkeypatch.context() as patched:
        patched.setattr(download.http.client.HTTPResponse, "read1", read_then_interrupt)
        with pytest.raises(KeyboardInterrupt):
            get("mine", home=tmp_path, url=f"{site.url}/mine.zip")
    (part,) = tmp_path.iterdir()
    assert part.name.endswith(".part")
    assert part.read_bytes() == ZIP[:30_000]


def test_corrupted_file_is_refused_and_removed(site: Site, tmp_path: Path) -> None:
    site.files["/mine.zip"] = ZIP[:1000] + b"\0" + ZIP[1001:]
    with pytest.raises(DataError, match="does not match its published checksum") as caught:
        get("mine", home=tmp_path, url=f"{site.url}/mine.zip", checksum=md5(ZIP))
    assert md5(ZIP).removeprefix("md5:") in caught.value.found
    assert left(tmp_path) == []


def test_the_checksum_of_the_catalogue_holds_for_mirrors(site: Site, tmp_path: Path) -> None:
    site.files["/ml-1m.zip"] = ZIP
    with pytest.raises(DataError, match="does not match its published checksum"):
        get("ml-1m", home=tmp_path, url=f"{site.url}/ml-1m.zip")
    assert left(tmp_path) == []


@pytest.mark.parametrize("body", [b"this is no zip", ZIP[:100_000]])
def test_broken_archive_is_removed(site: Site, tmp_path: Path, body: bytes) -> None:
    site.files["/mine.zip"] = body
    with pytest.raises(DataError, match="archive is broken"):
        get("mine", home=tmp_path, url=f"{site.url}/mine.zip")
    assert left(tmp_path) == []


def link(target: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("link")
        member.type, member.linkname = tarfile.SYMTYPE, target
        archive.addfile(member)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("file", "body"),
    [
        ("x.zip", zipped({"ok.txt": b"1", "../evil.txt": b"2"})),
        ("x.zip", zipped({"/etc/evil.txt": b"2"})),
        ("x.zip", zipped({"a/../../evil.txt": b"2"})),
        ("x.zip", zipped({"..\\evil.txt": b"2"})),
        ("x.tar.gz", tarred({"../evil.txt": b"2"})),
        ("x.tar", link("/etc/passwd")),
    ],
)
def test_archives_that_reach_outside(site: Site, tmp_path: Path, file: str, body: bytes) -> None:
    home = tmp_path / "deep" / "home"
    site.files[f"/{file}"] = body
    with pytest.raises(DataError, match=r"outside its folder|contains a link"):
        get("x", home=home, url=f"{site.url}/{file}")
    assert left(home) == []
    assert not list(tmp_path.rglob("evil.txt"))


@pytest.mark.parametrize(
    ("file", "body", "expected"),
    [
        ("x.tar.gz", tarred({"top/u.data": DATA}), ["u.data"]),
        ("x.tgz", tarred({"u.data": DATA, "sub/more": b"1"}), ["sub", "u.data"]),
        ("x.tar.bz2", tarred({"u.data": DATA}, "w:bz2"), ["u.data"]),
        ("x.zip", zipped({"top/u.data": DATA, "__MACOSX/._u.data": b""}), ["u.data"]),
        ("log.csv", b"user,item\n1,2\n", ["log.csv"]),
    ],
)
def test_kinds_of_archives(site: Site, tmp_path: Path, file: str, body: bytes, expected: list[str]) -> None:
    site.files[f"/{file}"] = body
    assert left(get("x", home=tmp_path, url=f"{site.url}/{file}")) == expected


def test_not_found(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not provide the file") as caught:
        get("x", home=tmp_path, url=f"{site.url}/nothing.zip")
    assert "404" in caught.value.found
    assert len(site.asked) == 1
    assert left(tmp_path) == []


def test_a_server_in_trouble_is_asked_again(site: Site, tmp_path: Path) -> None:
    site.files["/mine.zip"] = ZIP
    site.fail_with = [503, 500]
    assert get("mine", home=tmp_path, url=f"{site.url}/mine.zip").is_dir()
    site.fail_with = [503] * 9
    with pytest.raises(DataError, match="did not finish") as caught:
        get("again", home=tmp_path, url=f"{site.url}/mine.zip")
    assert "503" in caught.value.found


def test_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    with pytest.raises(DataError, match="did not finish") as caught:
        get("x", home=tmp_path, url="http://127.0.0.1:9/x.zip")
    assert "check the connection" in caught.value.do


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x.zip", "x.zip"])
def test_other_schemes_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(DataError, match="only http and https"):
        get("x", home=tmp_path, url=url)


def test_names(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match="unknown data set") as caught:
        get("ml1m", home=tmp_path)
    assert "ml-1m" in caught.value.do
    with pytest.raises(DataError, match="cannot be used for a folder"):
        get("../x", home=tmp_path, url="http://127.0.0.1:9/x.zip")
    with pytest.raises(DataError, match="cannot be fetched automatically") as by_hand:
        get("yahoo-r3", home=tmp_path)
    assert str(tmp_path / "yahoo-r3") in by_hand.value.do
    with pytest.raises(DataError, match="not a checksum"):
        get("x", home=tmp_path, url="http://127.0.0.1:9/x.zip", checksum="md5:123")


def test_home_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="could not be stored"):
        get("x", home=tmp_path / "file" / "home", url=f"{site.url}/x.zip")


def test_the_sum_of_an_unchecked_file_is_told(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.files["/mine.zip"] = ZIP
    get("mine", home=tmp_path, url=f"{site.url}/mine.zip")
    assert hashlib.sha256(ZIP).hexdigest() in capsys.readouterr().err


def test_catalogue_is_well_formed() -> None:
    for name, dataset in CATALOGUE.items():
        assert name == dataset.name
        assert dataset.licence
        assert dataset.url or dataset.how
        assert dataset.url is None or dataset.url.startswith("https://")
        if dataset.checksum and not dataset.checksum.startswith("https://"):
            assert download._expected(dataset.checksum)[1] == dataset.checksum.partition(":")[2]


def test_data_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRUEVAL_HOME", str(tmp_path))
    assert data_home() == tmp_path
    monkeypatch.delenv("TRUEVAL_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_home() == tmp_path / "cache" / "trueval"
