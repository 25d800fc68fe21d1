"""docs/design.md tells of the code as it is: its folders, and the records of its figure."""

from __future__ import annotations

import importlib
import re
from dataclasses import is_dataclass
from pathlib import Path

import pytest

from test_architecture import FLOW

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
FOLDERS = re.findall(r"^\| `(\w+)` \| [^`|]", TEXT, flags=re.MULTILINE)
RECORDS = re.findall(r"^\| `(\w+)` \| `([\w.]+)` \|", TEXT, flags=re.MULTILINE)


def test_the_folders_are_those_of_the_code() -> None:
    there = {path.parent.name for path in (ROOT / "src" / "trueval").glob("*/__init__.py")}
    assert [name for name in FLOW if name in there] == FOLDERS


@pytest.mark.parametrize(("name", "module"), RECORDS)
def test_the_records_are_where_it_says_and_frozen(name: str, module: str) -> None:
    record = getattr(importlib.import_module(f"trueval.{module}"), name)
    assert is_dataclass(record)
    assert record.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_the_figure_has_records_that_are_explained() -> None:
    figure = TEXT.split("```")[1]
    assert len(RECORDS) > 10
    shown = set(re.findall(r"\b[A-Z][a-z]+[A-Z]\w+", figure))
    assert shown <= {name for name, _ in RECORDS}
