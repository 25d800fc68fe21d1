"""Tables with footnotes in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.render.alignment import aligned

_RULES = {"l": "---|", "r": "---:|"}


def markdown_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, align: str = "l", notes: Sequence[str] = ()
) -> str:
    """A Markdown table; `align` has a letter per column, r where it ends. Notes follow below.

    >>> print(markdown_table(["system", "ndcg@10"], [["bpr", "0.31"]], notes=["95 % intervals"]), end="")
    | system | ndcg@10 |
    |---|---:|
    | bpr | 0.31 |
    <BLANKLINE>
    95 % intervals
    """
    rule = "|" + "".join(_RULES[letter] for letter in aligned(align, head))
    return "\n".join([_row(head), rule, *map(_row, rows)]) + "\n" + "".join(f"\n{note}\n" for note in notes)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
