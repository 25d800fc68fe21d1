"""Tables with footnotes in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueval.errors import visible
from trueval.render.alignment import aligned

_RULES = {"l": "---|", "r": "---:|"}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # p < 0.05 begins none
_TAG_END = re.compile(r">(?![ =])|(?<! )>")  # day >= 2 ends none


def markdown_text(text: str) -> str:
    r"""Text without HTML, code, links or ends of lines; emphasis stays.

    >>> print(markdown_text("<b>`a|b`</b> & p < 0.05 [x](y)"))
    &lt;b&gt;\`a\|b\`&lt;/b&gt; &amp; p < 0.05 [x]\(y)
    """
    text = " ".join(visible(text.replace("\\", "\\\\")).split("\n"))
    for mark, written in (("&", "&amp;"), ("|", r"\|"), ("`", r"\`"), ("](", r"]\(")):
        text = text.replace(mark, written)
    return _TAG.sub("&lt;", _TAG_END.sub("&gt;", text))


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
    return (
        "\n".join([_row(head), rule, *map(_row, rows)]) + "\n" + "".join(f"\n{markdown_text(note)}\n" for note in notes)
    )


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"
