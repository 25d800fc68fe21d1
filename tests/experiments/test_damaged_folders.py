"""Results that were damaged on disk: an experiment that goes on ends in the bytes of one that nothing happened to."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from experiment_worlds import contents, make_folder

import trueval as tv
from trueval.errors import TruevalError
from trueval.experiments.folder import MARKER

HEAD, TAIL = 16, 16  # bytes at both ends of a file, where formats keep what they are


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_folder(tmp_path_factory.mktemp("whole"))
    tv.run(folder / "experiment.toml", folder / "out")
    return folder


@pytest.fixture(scope="module")
def whole(finished: Path) -> dict[str, bytes]:
    return contents(finished / "out")


def flipped(content: bytes, place: int, bit: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]


def check_resumed(finished: Path, whole: dict[str, bytes], damaged: set[str], capsys: pytest.CaptureFixture) -> None:
    """Go on, find all bytes as they were, and what was made again said for every folder of facts and no other."""
    capsys.readouterr()
    tv.run(finished / "experiment.toml", finished / "out", resume=True)
    assert contents(finished / "out") == whole, damaged
    said = [
        line for line in capsys.readouterr().err.splitlines() if "computed again" in line or "written again" in line
    ]
    facts = {str(Path(name).parent) for name in damaged if name.startswith("facts/")}
    for place in facts | ({MARKER} & damaged):
        assert sum(place in line for line in said) == 1, (place, said)
    assert len(said) == len(facts) + (MARKER in damaged)


def every_file(kind: str, whole: dict[str, bytes], rng: np.random.Generator) -> Iterator[tuple[str, bytes | None]]:
    """Every file, damaged in one way."""
    for name, content in whole.items():
        size = len(content)
        places = {
            "head": int(rng.integers(min(HEAD, size))),
            "tail": size - 1 - int(rng.integers(min(TAIL, size))),
            "body": int(rng.integers(size)),
        }
        if kind in places:
            yield name, flipped(content, places[kind], int(rng.integers(8)))
        elif kind != "deleted":
            yield name, {"cut": content[: places["body"]], "shorter": content[:-1], "empty": b""}[kind]
        elif name != MARKER and not name.endswith("facts.json"):  # without these nobody knows whose folder it is
            yield name, None


@pytest.mark.parametrize("kind", ["head", "tail", "body", "cut", "shorter", "empty", "deleted"])
def test_files_that_were_damaged_all_at_once(finished, whole, kind, capsys):
    changed = dict(every_file(kind, whole, np.random.default_rng(5)))
    assert len(changed) > 20
    for name, content in changed.items():
        path = finished / "out" / name
        path.unlink() if content is None else path.write_bytes(content)
    check_resumed(finished, whole, set(changed), capsys)


@pytest.mark.slow
def test_single_bits_one_by_one(finished, whole, capsys):
    rng = np.random.default_rng(11)
    names = sorted(whole)
    for _ in range(150):
        name = names[int(rng.integers(len(names)))]
        damaged = flipped(whole[name], int(rng.integers(len(whole[name]))), int(rng.integers(8)))
        (finished / "out" / name).write_bytes(damaged)
        check_resumed(finished, whole, {name}, capsys)


def test_facts_that_are_gone_or_something_else(finished, whole, capsys):
    one, two, three, *_ = sorted((finished / "out" / "facts").iterdir())
    shutil.rmtree(one)
    shutil.rmtree(two)
    two.write_text("a file where a folder was")
    (three / "facts.json").unlink()
    tv.run(finished / "experiment.toml", finished / "out", resume=True)
    assert contents(finished / "out") == whole
    said = capsys.readouterr().err
    assert [place.name in said for place in (one, two, three)] == [False, True, True]


def test_what_says_whose_folder_it_is_must_be_there(finished, whole, tmp_path, trueval: Callable):
    shutil.copytree(finished, tmp_path / "copy")
    out = tmp_path / "copy" / "out"
    marker = (out / MARKER).read_bytes()
    (out / MARKER).write_bytes(flipped(marker, len(marker) // 2, 3))
    with pytest.raises(TruevalError, match=f"an experiment whose {MARKER} is damaged"):
        tv.run(tmp_path / "copy" / "experiment.toml", out)
    (out / MARKER).unlink()
    ran = trueval("run", tmp_path / "copy" / "experiment.toml", "-o", out, "--resume")
    assert ran.code == 2
    assert "a folder with other files" in ran.err
    assert contents(out).items() <= whole.items()


def test_the_command_says_what_it_made_again(finished, whole, trueval: Callable):
    (folder, *_) = sorted((finished / "out" / "facts").iterdir())
    path = folder / "units.parquet"
    path.write_bytes(flipped(path.read_bytes(), path.stat().st_size // 3, 0))
    ran = trueval("run", finished / "experiment.toml", "-o", finished / "out", "--resume")
    assert ran.code == 0
    assert f"damaged and are computed again: another checksum than when it was written ({path})" in ran.err
    assert contents(finished / "out") == whole
    assert "damaged" not in trueval("run", finished / "experiment.toml", "-o", finished / "out", "--resume").err
