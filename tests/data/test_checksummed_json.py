"""Files that show when they have changed."""

from __future__ import annotations

import math

import pytest

from trueval.data.checksummed_json import file_checksum, seal, unseal


def test_every_bit_counts():
    told = {"a": [1, 0.1, None, True, "ü"], "b": {"3": 1e-310, "x": math.inf}, "c": "2020-01-01"}
    text = seal(told)
    assert unseal(text) == told
    raw = text.encode()
    for place in range(len(raw)):
        for bit in range(8):
            changed = raw[:place] + bytes([raw[place] ^ 1 << bit]) + raw[place + 1 :]
            with pytest.raises(ValueError):  # noqa: PT011  # of JSON, of UTF-8, of the checksum
                unseal(changed.decode())
    for length in range(len(text)):
        with pytest.raises(ValueError):  # noqa: PT011
            unseal(text[:length])


def test_keys_and_values_that_json_has_not_are_sealed_as_they_are_read():
    assert unseal(seal({1: (2, 3), "when": math.pi, "path": ValueError("x")})) == {
        "1": [2, 3], "when": math.pi, "path": "x",
    }  # fmt: skip


def test_the_checksum_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(bytes(3_000_000))
    (tmp_path / "b").write_bytes(bytes(2_999_999) + b"\1")
    assert file_checksum(tmp_path / "a") != file_checksum(tmp_path / "b")
