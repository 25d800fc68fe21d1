"""Experiment files that no parser takes, or that one takes and nobody means."""

from __future__ import annotations

import pytest

from trueval.errors import DataError
from trueval.experiments.experiment_file import read_written

SPOILED = {
    "deep lists": b"a=" + b"[" * 100_000,
    "deep tables": b"a=" + b"{b=" * 50_000,
    "deep keys": b"a" + b".b" * 5_000 + b"=1",
    "many digits": b"a=" + b"9" * 5_000,
    "many hexadecimal digits": b"a=0x" + b"f" * 5_000,
    "more than 64 bits": b"a=" + b"9" * 30,
    "no date": b"a=2024-13-45",
    "no time zone": b"a=1979-05-27T07:32:00+99:99",
    "null": b'a="\0"',
    "utf-16": "[data]".encode("utf-16"),
    "not utf-8": b"\xff\xff",
}


@pytest.mark.parametrize("content", SPOILED.values(), ids=list(SPOILED))
def test_spoiled_files_are_refused(content, tmp_path):
    (tmp_path / "x.toml").write_bytes(content)
    with pytest.raises(DataError, match=r"not valid TOML|cannot be read"):
        read_written(tmp_path / "x.toml")


def test_a_byte_order_mark_is_no_error(tmp_path):
    (tmp_path / "x.toml").write_bytes(b'\xef\xbb\xbf[data]\npath = "x"\n')
    assert read_written(tmp_path / "x.toml").section("data") == {"path": "x"}
