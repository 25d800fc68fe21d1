"""The tool that makes small wrong changes: what it changes and leaves alone, and what it tells."""

from __future__ import annotations

import ast
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
from small_changes import Change, all_changes, changes_in, is_left_out, not_counted, sample
from touching_tests import names_around, public_names, rounds

from mutants import Outcome, aside, report

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "trueval"

CHANGED = {
    "a < b": {"a <= b"},
    "a != b": {"a == b"},
    "a not in b": {"a in b"},
    "a < b < c": {"a <= b < c", "a < b <= c"},
    "a + b": {"a - b"},
    "a * b": {"a / b"},
    "a and b": {"a or b"},
    "not a": {"a"},
    "-a": {"a"},
    "min(a, b)": {"max(a, b)"},
    "a.max(axis=0)": {"a.min(axis=0)", "a.max(axis=1)"},
    "a[:b]": {"a[:b - 1]"},
    "a[0]": {"a[1]"},
    "f(7)": {"f(8)"},
    "f(1)": {"f(0)", "f(2)"},
    "f(0.5)": {"f(1.0)"},
    "f(sort=True)": {"f(sort=False)"},
    "a.searchsorted(b, side='left')": {"a.searchsorted(b, side='right')"},
    "f'{a + 1}'": set(),
    "'text' + a": set(),
    "blocks(a, 1000)": set(),
}


@pytest.mark.parametrize("old", CHANGED)
def test_each_kind_of_change(old: str) -> None:
    source = f"x = {old}\n".encode()
    made = {ast.unparse(ast.parse(change.made(source))) for change in changes_in("x.py", source)}
    assert made == {ast.unparse(ast.parse(f"x = {new}")) for new in CHANGED[old]}


def test_what_is_left_alone() -> None:
    source = b'''"""1 + 1 < 3"""
from typing import TYPE_CHECKING
BLOCK = 64
if TYPE_CHECKING:
    one = 1
@dataclass(frozen=True)
class Record:
    """Some 3."""
    number: tuple[1, 2] | None
def function(a: x[1, 2], b: int = 5) -> y[1 + 1]:
    """Returns 1."""
    assert a > 1
    if a:
        raise ValueError("less than", 1 + 2)
    return blocks(a, 7)
'''
    assert [(change.old, change.new) for change in changes_in("x.py", source)] == [("5", "6")]


def test_lines_below_a_change_keep_their_numbers() -> None:
    source = b"x = (\n    a  # a remark\n    +\n    b\n)\nif x:\n    y = f(\n        1,\n        c < d,\n    )\nz = 1\n"
    for change in changes_in("x.py", source):
        made = change.made(source)
        assert made.count(b"\n") == source.count(b"\n")
        assert made != source
        assert ast.parse(made).body[-1].lineno == 11


def test_every_change_of_a_sample_can_be_compiled() -> None:
    changes = all_changes(PACKAGE)
    assert len(changes) > 10_000
    assert not any(is_left_out(change.path) for change in changes)
    chosen = sample(changes, 200, seed=3)
    assert chosen == sample(changes, 200, seed=3)
    assert chosen != sample(changes, 200, seed=4)
    for change in chosen:
        source = (PACKAGE / change.path).read_bytes()
        assert source[change.begin : change.end].decode() == change.old
        assert ast.dump(ast.parse(change.made(source))) != ast.dump(ast.parse(source))


def test_all_files_are_counted_or_left_out_for_a_reason() -> None:
    reasons = not_counted(PACKAGE)
    files = list(PACKAGE.rglob("*.py"))
    counted = {file for file in files if not is_left_out(file.relative_to(PACKAGE).as_posix())}
    assert sum(number for number, _ in reasons.values()) == len(files) - len(counted)
    changes = sum(len(changes_in(file.relative_to(PACKAGE).as_posix(), file.read_bytes())) for file in files)
    assert sum(number for _, number in reasons.values()) == changes - len(all_changes(PACKAGE))
    for why, (_, number) in reasons.items():
        assert f"{why} {number:,} in" in aside()
    assert "compiled kernels" not in aside(kernels=True)


def test_names_of_files_and_constants_left_out_exist() -> None:
    """A file that was renamed would be counted again without a word."""
    from small_changes import COMPILED, ELSEWHERE, PUBLISHED, RENDERING, SPEED_FILES, SPEED_NAMES

    paths = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py")]
    for form in (*RENDERING, *SPEED_FILES, *PUBLISHED, *ELSEWHERE, *COMPILED):
        assert any(fnmatch(path, form) for path in paths), form
    omitted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["omit"]
    assert {name.removeprefix("*/trueval/") for name in omitted} == set(COMPILED)
    texts = "\n".join(file.read_text() for file in PACKAGE.rglob("*.py"))
    assert {name for name in SPEED_NAMES if f"\n{name} = " not in texts and f"\n{name}: " not in texts} == set()


def test_the_likeliest_tests_come_first() -> None:
    first, importing, folder, *_ = rounds(ROOT, "statistics/bradley_terry.py")
    assert first[:2] == ["src/trueval/statistics/bradley_terry.py", "tests/statistics/test_bradley_terry.py"]
    assert all(file.startswith("tests/statistics/") for file in [*first[1:], *folder])
    assert not any(file.startswith("tests/statistics/") for file in importing)
    assert not set(first) & set(folder)


def test_names_by_which_tests_are_found() -> None:
    source = "LEVEL = 1\nclass Record:\n    def value(self):\n        return 2\n\ndef _own():\n    pass\n"
    assert public_names(source) == ["LEVEL", "Record"]
    assert names_around(source, 4) == ["Record", "value"]
    assert names_around(source, 1) == []


def test_the_report_counts_what_was_noticed() -> None:
    kinds = ["noticed", "hung", "stopped", "survived", "untouched"]
    changes = [Change("online/ab/x.py" if n % 2 else "splits/y.py", n, 0, 1, "a | b", "a & b", True) for n in range(5)]
    text = report([Outcome(n, changes[n], kind, "", 2, 1.0) for n, kind in enumerate(kinds)])
    assert "| all | 3 | 5 | 60.0 % |" in text
    assert "| online | 1 | 2 | 50.0 % |" in text
    assert "| 4 | src/trueval/splits/y.py:4 | `a \\| b` | `a & b` | 2 |" in text
    assert "| 0 |" not in text
