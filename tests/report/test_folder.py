"""Writing many files: all or none, and never over somebody else's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trueval.errors import OutputError
from trueval.report.folder import check_folder, write_together


def write(folder: Path, files: dict) -> None:
    write_together(folder, files, marker="made.json", manifest={"by": "test"})


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_first_and_second_time(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "out"
    write(target, {"a.txt": "1", "sub/b.txt": lambda path: path.write_text("2")})
    assert json.loads((target / "made.json").read_text()) == {"by": "test", "files": ["a.txt", "sub/b.txt"]}
    (target / "sub" / "own.txt").write_text("own")
    write(target, {"a.txt": "3", "sub/b.txt": "4"})
    assert contents(target) == {
        "a.txt": "3", "sub/b.txt": "4", "sub/own.txt": "own", "made.json": (target / "made.json").read_text(),
    }  # fmt: skip


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_everything_as_it_was(tmp_path: Path, problem: BaseException) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise problem

    with pytest.raises((OutputError, KeyboardInterrupt)):
        write(tmp_path / "deep" / "out", {"a.txt": "1", "b.txt": fail})
    assert not (tmp_path / "deep").exists()
    write(tmp_path / "out", {"a.txt": "1", "b.txt": "2"})
    before = contents(tmp_path / "out")
    with pytest.raises((OutputError, KeyboardInterrupt)):
        write(tmp_path / "out", {"a.txt": "3", "new/b.txt": fail})
    assert contents(tmp_path / "out") == before
    assert not (tmp_path / "out" / "new").exists()


def test_a_failure_while_files_take_their_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    write(out, {"a.txt": "1", "b.txt": "2"})
    before = contents(out)
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if Path(target) == out / "c.txt":
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match="Permission denied"):
        write(out, {"a.txt": "3", "b.txt": "4", "c.txt": "5"})
    assert contents(out) == before


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="a file"):
        check_folder(tmp_path / "file", ["a"], marker="made.json")
    with pytest.raises(OutputError, match="other files"):
        check_folder(tmp_path, ["a"], marker="made.json")
    (tmp_path / "made.json").write_text("not what we write")
    with pytest.raises(OutputError, match="other files"):
        check_folder(tmp_path, ["a"], marker="made.json")
    write(tmp_path / "out", {"a.txt": "1"})
    (tmp_path / "out" / "b.txt").write_text("own")
    with pytest.raises(OutputError, match=r"b\.txt"):
        write(tmp_path / "out", {"a.txt": "2", "b.txt": "3"})
    assert (tmp_path / "out" / "a.txt").read_text() == "1"
