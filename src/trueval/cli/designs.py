"""trueval designs: the words of designs, and a picture of any of them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer


def designs_command(
    name: Annotated[str | None, typer.Argument(help="A design, as 1R-TI-NN100 (default: list the words).")] = None,
) -> None:
    """List the words of designs, or show who is ranked against whom under one, in a tiny example.

    Examples:

      trueval designs

      trueval designs 1R-TI-NN2

      trueval designs given-condensed
    """
    from trueval.design.picture import picture

    sys.stdout.write(picture(name) if name else listing())


def listing() -> str:
    """All words by what they decide, one line each."""
    from trueval.design.words import WORDS

    lines: list[str] = []
    for decides in dict.fromkeys(one.decides for one in WORDS):
        lines += [f"{decides[0].upper()}{decides[1:]}", ""]
        lines += [f"  {one.word:<12} {one.means}" for one in WORDS if one.decides == decides]
        lines.append("")
    lines += [
        "A design joins its words with hyphens: AR-TI-AN-head10; without others, U1R and UAR mean TI and AN.",
        "One design as a picture: trueval designs 1R-TI-NN2",
    ]
    return "\n".join(lines) + "\n"
