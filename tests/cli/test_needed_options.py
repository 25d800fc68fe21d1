"""Options that would do nothing in a call: refused, with the option that they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer

from trueval.cli.app import make_app
from trueval.cli.guard import NEEDS

Run = Callable[..., Any]


def _tree() -> Iterator[tuple[str, Any]]:
    """All commands of the application."""
    commands = dict(typer.main.get_command(make_app()).commands)  # type: ignore[attr-defined]
    while commands:
        name, command = commands.popitem()
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        else:
            commands |= {f"{name} {own}": one for own, one in inner.items()}


# By the function of a command: words of a call that works, and a value for each option that needs another one.
CALLS: dict[str, tuple[list[str], dict[str, str]]] = {
    "metrics_command": (["metrics", "ndcg"], {"worlds": "7", "seed": "3"}),
    "evaluate_command": (["evaluate", "recs.csv", "--test", "test.csv"], {"min_group": "5"}),
    "audit_command": (
        ["audit", "--train", "train.csv", "--test", "test.csv"],
        {"min_group": "5", "design": "1R-TI-AN", "only_users": "nothing.csv", "relevant_change": "1%",
         "metrics": "recall@3", "missing": "drop", "invalid": "miss", "ties": "worst", "simulate": ""},
    ),
    "skew_command": (["simulate", "skew", "-o", "world"], {"columns": "user=u"}),
    "opposed_command": (["simulate", "opposed", "-o", "world"], {"columns": "user=u"}),
    "loop_command": (["simulate", "loop"], {"columns": "user=u"}),
    "analyse_command": (["study", "analyse", "rankings.csv"], {"metrics": "ndcg@10"}),
}  # fmt: skip


def test_the_table_names_options_of_commands() -> None:
    functions = {command.callback.__name__: command for _, command in _tree()}
    assert CALLS.keys() == NEEDS.keys() <= functions.keys()
    for name, needs in NEEDS.items():
        assert CALLS[name][1].keys() == needs.keys()
        assert {*needs, *(one for others in needs.values() for one in others)} <= {
            p.name for p in functions[name].params
        }


@pytest.mark.parametrize(("function", "option"), [(name, option) for name, needs in NEEDS.items() for option in needs])
def test_an_option_that_would_do_nothing_is_refused(
    function: str, option: str, trueval: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    pl.DataFrame({"participant": [1, 1], "system": ["a", "b"], "rank": [1, 2]}).write_csv("rankings.csv")
    words, values = CALLS[function]
    written = f"--{option.replace('_', '-')}"
    refused = trueval(*words, written, *filter(None, [values[option]]))
    assert refused.code == 2
    assert f"{written} does nothing without " in refused.err
    assert not (files / "world").exists()


def test_no_option_says_that_it_does_nothing() -> None:
    for name, command in _tree():
        for option in command.params:
            assert "no effect" not in (getattr(option, "help", None) or "").lower(), (name, option.name)
