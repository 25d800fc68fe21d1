"""trueval systems: which systems are included, what they optimise, and their parameters."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def systems_command(
    name: Annotated[str | None, typer.Argument(help="Name of a system (default: list all systems).")] = None,
) -> None:
    """List the systems, or explain one: objective, parameters with defaults and range, reference.

    Examples:

      trueval systems

      trueval systems plsa
    """
    from trueval.recommenders.registry import find

    sys.stdout.write(f"{find(name.split('[')[0])!r}\n" if name else listing())


def listing() -> str:
    """All systems by what they know, one line each."""
    from trueval.recommenders.registry import find, systems

    records = [find(name) for name in systems()]
    kinds = {
        "Personalised: each user has a list of their own": [r for r in records if r.personalised],
        "The same for everybody": [r for r in records if not r.personalised and not r.oracle],
        "Oracles: they read the test part and give the best values that others can reach": [
            r for r in records if r.oracle
        ],
    }
    lines = []
    for title, members in kinds.items():
        lines += [title, "", *(f"  {r.name:<24} {r.summary}" for r in members), ""]
    lines += [
        "Parameters are written in brackets: userknn[k=50,feedback=explicit]",
        "One system in full: trueval systems plsa",
    ]
    return "\n".join(lines) + "\n"
