"""Docstrings of public names follow their signatures: every parameter, what comes back, an example."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import trueval

PUBLIC = {name: getattr(trueval, name) for name in trueval._HOME}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if not isinstance(value, type)}
CLASSES = {name: value for name, value in PUBLIC.items() if isinstance(value, type)}
_UNDERLINED = re.compile(r"^(\w+)\n(-+)$", re.MULTILINE)
_NAMED = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : \S")


def sections(documented: Any) -> dict[str, str]:
    """The underlined sections of a docstring, by title, and its beginning by the title ""."""
    text = inspect.getdoc(documented) or ""
    titles = [found for found in _UNDERLINED.finditer(text) if len(found[1]) == len(found[2])]
    ends = [*(found.start() for found in titles), len(text)]
    return {"": text[: ends[0]]} | {t[1]: text[t.end() : end].strip("\n") for t, end in zip(titles, ends[1:])}


def described(section: str) -> list[str]:
    """The names that a section explains: `name : type` (or `one, two : type`), and an indented text below."""
    names: list[str] = []
    lines = section.split("\n")
    for line, below in zip(lines, [*lines[1:], ""]):
        if (found := _NAMED.match(line)) and below.startswith("    "):
            names += found[1].split(", ")
    return names


def wanted(function: Callable[..., Any]) -> list[str]:
    """The parameters of a function as its docstring names them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    own = inspect.signature(function).parameters.values()
    return [stars.get(parameter.kind, "") + parameter.name for parameter in own if parameter.name != "self"]


def faults(function: Callable[..., Any], *needed: str) -> list[str]:
    """What the docstring of a function lacks, or says of parameters that are not there."""
    found = sections(function)
    names, own = described(found.get("Parameters", "")), wanted(function)
    said = [f"{name} is not documented" for name in own if name not in names]
    said += [f"{name} is no parameter" for name in names if name not in own]
    said += [] if said or names == own else ["parameters are in another order"]
    said += [f"no {title}" for title in needed if not found.get(title)]
    return said + ([] if found[""].split("\n")[0].endswith(".") else ["the first line is no sentence"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_public_functions_document_every_parameter(name: str) -> None:
    assert not faults(FUNCTIONS[name], "Returns", "Examples")
    assert ">>>" in sections(FUNCTIONS[name])["Examples"]


@pytest.mark.parametrize("name", CLASSES)
def test_public_classes_document_their_attributes(name: str) -> None:
    found = sections(CLASSES[name])
    assert found[""].split("\n")[0].endswith(".")
    assert ">>>" in found.get("Examples", "")
    fields = [field for field in getattr(CLASSES[name], "__dataclass_fields__", {}) if not field.startswith("_")]
    assert set(fields) <= set(described(found.get("Attributes", "")))
    assert described(found["Attributes"])


def methods(of: type) -> dict[str, Callable[..., Any]]:
    """Public methods of a class that take parameters."""
    known = inspect.getmembers(of, inspect.isfunction)
    return {name: method for name, method in known if not name.startswith("_") and wanted(method)}


@pytest.mark.parametrize(("of", "name"), [(of, name) for of in ("Result", "Parts") for name in methods(CLASSES[of])])
def test_methods_of_results_and_parts_document_every_parameter(of: str, name: str) -> None:
    method = methods(CLASSES[of])[name]
    returns = inspect.signature(method).return_annotation != "None"
    assert not faults(method, *["Returns"] * returns)


# ---- the checks can fail -----------------------------------------------------------------------------------------


def whole(first: int, *, second: int = 0, **others: int) -> int:
    """Add numbers.

    Parameters
    ----------
    first : int
        One number.
    second : int, default 0
        Another.
    **others : int
        More of them.

    Returns
    -------
    int
        Their sum.
    """
    return first + second + sum(others.values())


def grown(first: int, *, second: int = 0, third: int = 0, **others: int) -> int:
    return first + second + third + sum(others.values())


def shrunk(first: int, **others: int) -> int:
    return first + sum(others.values())


def turned(second: int, *, first: int = 0, **others: int) -> int:
    return first + second + sum(others.values())


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (whole, []),
        (grown, ["third is not documented"]),
        (shrunk, ["second is no parameter"]),
        (turned, ["parameters are in another order"]),
    ],
)
def test_faults_are_found(function: Callable[..., Any], said: list[str]) -> None:
    function.__doc__ = whole.__doc__
    assert faults(function, "Returns") == said
    assert faults(function, "Examples") == [*said, "no Examples"]


def test_a_name_without_a_text_is_not_described() -> None:
    assert described("first : int\nsecond : int\n    Another.") == ["second"]
    assert described("one, two : int\n    Both.") == ["one", "two"]
