"""Addresses that are none, servers that mean ill, and what is found where a download should go."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import ssl
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from trueval.data import download, web
from trueval.data.addresses import checked_address, file_name_of, shown_address
from trueval.data.datasets import CATALOGUE
from trueval.data.download import get
from trueval.errors import DataError, OutputError, TruevalError

Answer = Callable[[BaseHTTPRequestHandler], None]


def a_zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mine/u.data", "1\t2\t3\t4\n" * 20_000)
    return buffer.getvalue()


ZIP = a_zip()


class Server:
    """A server that answers each path as it is told to."""

    def __init__(self, *, context: ssl.SSLContext | None = None) -> None:
        answers: dict[str, Answer] = {}
        asked: list[str] = []
        self.answers, self.asked = answers, asked

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                asked.append(self.path)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    answers[self.path.partition("?")[0]](self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        scheme = "http"
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def sends(body: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    server = Server()
    yield server
    server.close()


@pytest.fixture
def secure(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server behind https, whose own certificate is trusted for the while."""
    folder = tmp_path_factory.mktemp("certificate")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no openssl to make a certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    web._opener.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = Server(context=context)
    yield server
    server.close()
    web._opener.cache_clear()


def left(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir())


# ---- addresses ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "", "http://", "https:///x.zip", "http://[::1", "http://[::1]x/", "http://host:99999/x.zip", "http://host:x/",
        "http://host:0/x", "http://a b/x.zip", "http://host/a b.zip", "http://host/x\n.zip", "http://host/\r\nX: y",
        "http://\u2100.example/x", "http://" + "ä" * 80 + ".org/x", "http://..ä/x", "http://me:secret@host/x.zip",
        "https://me@host/x.zip", "file:///etc/passwd", "ftp://host/x", "data:,x", "//host/x", "x.zip", "http:x",
        "\x00", "http://host\x00/", "javascript:alert(1)", "http://user:secret@[::1", "http://u:secret@h:99999/",
        "http://u:secret @h/",
    ],
)  # fmt: skip
def test_addresses_that_are_none(tmp_path: Path, url: str) -> None:
    for wrong in ({"url": url}, {"url": "http://127.0.0.1:9/x.zip", "checksum": url}):
        if "checksum" in wrong and not url.startswith("http"):
            continue
        with pytest.raises(DataError) as caught:
            get("mine", home=tmp_path, **wrong)
        assert "secret" not in str(caught.value)
        assert "\n" not in caught.value.where
        assert left(tmp_path) == []


def test_addresses_as_they_are_sent() -> None:
    assert checked_address("https://example.org/a%20b.zip?x=1#part") == "https://example.org/a%20b.zip?x=1"
    assert checked_address("http://[::1]:80/x.zip") == "http://[::1]:80/x.zip"
    assert checked_address("https://bücher.example/ü?ü") == "https://xn--bcher-kva.example/%C3%BC?%C3%BC"
    assert shown_address("https://a@b:c@host/x@y") == "https://…@host/x@y"
    assert shown_address("https://host/a@b") == "https://host/a@b"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/..%2f..%2fx.zip", "x.zip"),
        ("/..%5c..%5cx.zip", "x.zip"),
        ("/%2e%2e", "mine"),
        ("/.hidden.zip", "hidden.zip"),
        ("/-rf.zip", "rf.zip"),
        ("/a%00b%0a.zip", "a_b_.zip"),
        ("/%F0%9F%98%80.zip", "_.zip"),
        ("", "mine"),
        ("/", "mine"),
        ("/___", "mine"),
        ("/" + "x" * 500 + ".tar.gz", "x" * 93 + ".tar.gz"),
    ],
)
def test_file_names_in_addresses(path: str, name: str) -> None:
    assert file_name_of(f"https://example.org{path}", otherwise="mine") == name


@pytest.mark.parametrize("path", ["/..%2f..%2fx.zip", "/" + "x" * 900 + ".zip", "/x.zip?a=../../y"])
def test_files_of_such_names_are_fetched(server: Server, tmp_path: Path, path: str) -> None:
    server.answers[path.partition("?")[0]] = sends(ZIP, ETag='"' + "e" * 60 + '"')
    assert left(get("mine", home=tmp_path / "a" / "b", url=server.url + path)) == ["u.data"]
    assert left(tmp_path / "a" / "b") == ["mine"]


# ---- redirects ---------------------------------------------------------------------------------------------------


def redirects(to: str, status: int = 302) -> Answer:
    return sends(b"", status, Location=to)


@pytest.mark.parametrize(
    "to",
    [
        "file:///etc/passwd", "ftp://127.0.0.1/x.zip", "http://[::1", "http://", "http://127.0.0.1:99999/x.zip",
        "http://me:secret@127.0.0.1/x.zip", "data:,x", "gopher://x/",
    ],
)  # fmt: skip
def test_redirects_that_are_refused(server: Server, tmp_path: Path, to: str) -> None:
    server.answers["/x.zip"] = redirects(to)
    with pytest.raises(DataError) as caught:
        get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    assert "secret" not in str(caught.value)
    assert left(tmp_path) == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_few_redirects_are_followed(server: Server, tmp_path: Path, status: int) -> None:
    for place in range(4):
        server.answers[f"/{place}"] = redirects(f"/{place + 1}", status)
    server.answers["/4"] = sends(ZIP)
    server.answers["/x.zip"] = redirects(f"{server.url}/0", status)
    assert get("mine", home=tmp_path, url=f"{server.url}/x.zip").is_dir()
    server.answers["/4"] = redirects("/5")
    server.answers["/5"] = sends(ZIP)
    with pytest.raises(DataError, match="does not provide the file") as caught:
        get("again", home=tmp_path, url=f"{server.url}/x.zip")
    assert "\n" not in caught.value.found


def test_redirects_in_a_circle_end(server: Server, tmp_path: Path) -> None:
    server.answers["/x.zip"] = redirects("/x.zip")
    with pytest.raises(DataError):
        get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    assert len(server.asked) < 10


def test_https_never_becomes_http(server: Server, secure: Server, tmp_path: Path) -> None:
    server.answers["/x.zip"] = sends(ZIP)
    secure.answers["/same.zip"] = redirects("/whole.zip")
    secure.answers["/whole.zip"] = sends(ZIP)
    secure.answers["/x.zip"] = redirects(f"{server.url}/x.zip")
    assert get("safe", home=tmp_path, url=f"{secure.url}/same.zip").is_dir()
    with pytest.raises(DataError, match="from https to http"):
        get("mine", home=tmp_path, url=f"{secure.url}/x.zip")
    server.answers["/x.md5"] = sends(b"0" * 32)
    with pytest.raises(DataError, match="would come by http"):
        get("mine", home=tmp_path, url=f"{secure.url}/whole.zip", checksum=f"{server.url}/x.md5")
    secure.answers["/x.md5"] = redirects(f"{server.url}/x.md5")
    with pytest.raises(DataError, match="from https to http"):
        get("mine", home=tmp_path, url=f"{secure.url}/whole.zip", checksum=f"{secure.url}/x.md5")
    assert server.asked == []
    assert left(tmp_path) == ["safe"]
    server.answers["/up.zip"] = redirects(f"{secure.url}/whole.zip")
    assert get("up", home=tmp_path, url=f"{server.url}/up.zip").is_dir()


def test_a_certificate_of_nobody_is_refused(secure: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "_PAUSE", 0.0)
    monkeypatch.delenv("SSL_CERT_FILE")
    web._opener.cache_clear()
    secure.answers["/x.zip"] = sends(ZIP)
    with pytest.raises(DataError, match="did not finish") as caught:
        get("mine", home=tmp_path, url=f"{secure.url}/x.zip")
    assert "certificate" in caught.value.found.lower()
    assert secure.asked == []


# ---- answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", ["-5", "many", "", "1e9", "٣", "9" * 30])
def test_lengths_that_are_no_numbers(server: Server, tmp_path: Path, length: str) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: " + length.encode() + b"\r\n\r\n" + ZIP)

    server.answers["/x.zip"] = answer
    if length == "9" * 30:  # http.client waits for so many, and none come
        with pytest.raises(DataError):
            get("mine", home=tmp_path, url=f"{server.url}/x.zip", checksum="0" * 32)
    else:
        assert left(get("mine", home=tmp_path, url=f"{server.url}/x.zip")) == ["u.data"]


def test_a_length_that_is_too_small_or_too_large(server: Server, tmp_path: Path) -> None:
    server.answers["/x.zip"] = sends(ZIP, Content_Length="100")
    with pytest.raises(DataError, match="archive is broken"):
        get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    assert left(tmp_path) == []
    server.answers["/x.zip"] = sends(ZIP, Content_Length=str(len(ZIP) + 100))
    with pytest.raises(DataError, match="did not finish"):
        get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    server.answers["/x.zip"] = sends(ZIP)
    assert get("mine", home=tmp_path, url=f"{server.url}/x.zip").is_dir()
    assert left(tmp_path) == ["mine"]


@pytest.mark.parametrize("declared", [True, False])
def test_a_server_that_never_ends(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: bool
) -> None:
    monkeypatch.setenv("TRUEVAL_DOWNLOAD_GB", "0.001")

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if declared:
            handler.send_header("Content-Length", str(10**15))
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * 100_000)

    server.answers["/x.zip"] = answer
    with pytest.raises(DataError, match="more than the file can have") as caught:
        get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    assert "TRUEVAL_DOWNLOAD_GB" in caught.value.do
    assert len(server.asked) == 1
    assert left(tmp_path) == []


def test_a_server_that_is_too_slow(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of our own: on one, weeks pass between every two looks; on the other, a second."""
    server.answers["/x.zip"] = sends(ZIP)
    weeks = itertools.count(0, 10**7)
    monkeypatch.setattr(web, "time", SimpleNamespace(monotonic=lambda: next(weeks)))
    with pytest.raises(DataError, match="did not finish") as caught:
        get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    assert "per second" in caught.value.found
    assert len(server.asked) == download._ATTEMPTS
    seconds = itertools.count()
    monkeypatch.setattr(web, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    assert get("mine", home=tmp_path, url=f"{server.url}/x.zip").is_dir()


@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, br", "\x1b[2J"])
def test_answers_that_were_packed_on_the_way(server: Server, tmp_path: Path, coding: str) -> None:
    server.answers["/log.csv"] = sends(gzip.compress(b"user,item\n1,2\n"), Content_Encoding=coding)
    with pytest.raises(DataError, match="does not send the file as it is") as caught:
        get("mine", home=tmp_path, url=f"{server.url}/log.csv")
    assert "\x1b" not in str(caught.value)
    assert left(tmp_path) == []


def test_gzip_files_that_servers_call_encoded(server: Server, tmp_path: Path) -> None:
    packed = gzip.compress(b"user,item\n1,2\n")
    server.answers["/log.csv.gz"] = sends(packed, Content_Encoding="x-gzip")
    assert (get("mine", home=tmp_path, url=f"{server.url}/log.csv.gz") / "log.csv.gz").read_bytes() == packed


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\r\n", b"nonsense", b"HTTP/9.9 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200,
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, b"HTTP/1.1 302 Found\r\n\r\n", b"HTTP/1.1 206 Part\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic\r\n\r\n", b"HTTP/1.1 200 OK\r\nETag: \xff\xfe\r\n\r\nabc",
    ],
)  # fmt: skip
def test_answers_that_are_none(server: Server, tmp_path: Path, raw: bytes) -> None:
    server.answers["/x.zip"] = lambda handler: handler.wfile.write(raw) and None
    server.answers["/x.md5"] = server.answers["/x.zip"]
    with pytest.raises(DataError):
        get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    assert not (tmp_path / "mine").exists()
    with pytest.raises(DataError):
        get("mine", home=tmp_path, url=f"{server.url}/x.zip", checksum=f"{server.url}/x.md5")


@pytest.mark.parametrize("name", ["page.html", "x.zip", "x.csv", "x"])
def test_what_is_no_data_set_is_not_kept(server: Server, tmp_path: Path, name: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("noise.bin", b"\0")
        archive.writestr("README.txt", b"nothing")
    bodies = {"page.html": b"<html>", "x.zip": buffer.getvalue(), "x.csv": b"", "x": b"user,item\n"}
    server.answers[f"/{name}"] = sends(bodies[name])
    with pytest.raises(DataError, match=r"no data set in it|no data in the file"):
        get("mine", home=tmp_path, url=f"{server.url}/{name}")
    assert left(tmp_path) == []


def test_a_checksum_of_another_kind_than_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a checksum"):
        get("mine", home=tmp_path, url="http://127.0.0.1:9/x.zip", checksum="sha256:" + "0" * 32)


# ---- what is found where the download should go -------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["x.zip.part", "x.zip.copy.part", "x.zip.ÄÖ.part", "x.zip.a.b.part", "x.zip.InYxIg.part"]
)
@pytest.mark.parametrize("kind", ["file", "empty", "folder", "link", "dangling link", "large"])
def test_odd_leftovers_do_not_stand_in_the_way(server: Server, tmp_path: Path, name: str, kind: str) -> None:
    home, precious = tmp_path / "home", tmp_path / "precious"
    home.mkdir()
    precious.write_text("keep me")
    place = home / name
    if kind == "folder":
        place.mkdir()
        (place / "inside").write_text("keep me")
    elif kind.endswith("link"):
        place.symlink_to(precious if kind == "link" else tmp_path / "nothing")
    else:
        place.write_bytes({"file": b"rubbish", "empty": b"", "large": b"x" * (len(ZIP) + 9)}[kind])

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if "Range" in handler.headers and handler.headers["If-Range"] == '"v1"':
            sends(b"", 416, Content_Range=f"bytes */{len(ZIP)}")(handler)
        else:
            sends(ZIP, ETag='"v1"')(handler)

    server.answers["/x.zip"] = answer
    assert left(get("mine", home=home, url=f"{server.url}/x.zip")) == ["u.data"]
    assert precious.read_text() == "keep me"
    assert not (tmp_path / "nothing").exists()
    if kind == "folder":
        assert (place / "inside").read_text() == "keep me"


def test_targets(server: Server, tmp_path: Path) -> None:
    server.answers["/x.zip"] = sends(ZIP)
    (tmp_path / "empty").mkdir()
    assert left(get("empty", home=tmp_path, url=f"{server.url}/x.zip")) == ["u.data"]
    (tmp_path / "file").write_text("keep me")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for name in ("file", "link"):
        with pytest.raises(OutputError, match="cannot be made"):
            get(name, home=tmp_path, url=f"{server.url}/x.zip")
    assert (tmp_path / "file").read_text() == "keep me"
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "noise.bin").touch()
    with pytest.raises(DataError, match="no data set in it") as caught:
        get("half", home=tmp_path, url=f"{server.url}/x.zip")
    assert "remove the folder" in caught.value.do
    assert left(tmp_path / "half") == ["noise.bin"]


def test_places_where_a_killed_process_was_unpacking(server: Server, tmp_path: Path) -> None:
    server.answers["/x.zip"] = sends(ZIP)
    old, new, other = tmp_path / ".mine-abcdefgh", tmp_path / ".mine-12345678", tmp_path / ".mine-of-somebody"
    for folder in (old, new, other):
        (folder / "content").mkdir(parents=True)
    for folder in (old, other):
        os.utime(folder, (0, 0))  # 1970: more than a day ago, whatever the clock says
    get("mine", home=tmp_path, url=f"{server.url}/x.zip")
    assert left(tmp_path) == sorted([new.name, other.name, "mine"])


def test_every_known_data_set_has_a_checksum_or_says_so(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for known in CATALOGUE.values():
        assert known.url is None or known.url.startswith("https://")
        assert known.checksum is None or known.checksum.startswith(("md5:", "sha256:", "https://"))
        assert (known.checked_by == "no checksum") == (known.url is not None and known.checksum is None)
    server.answers["/x.zip"] = sends(ZIP)
    get("coat", home=tmp_path, url=f"{server.url}/x.zip")
    assert "no checksum is published" in capsys.readouterr().err
    with pytest.raises(TruevalError, match="does not match its published checksum"):
        get("ml-1m", home=tmp_path, url=f"{server.url}/x.zip")
