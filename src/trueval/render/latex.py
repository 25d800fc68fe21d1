"""Text and tables with footnotes in LaTeX (booktabs)."""

from __future__ import annotations

from collections.abc import Sequence

from trueval.errors import visible
from trueval.render.alignment import aligned

_TEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "|": r"\textbar{}", "−": "$-$", "±": r"$\pm$", "τ": r"$\tau$", "≠": r"$\neq$", "…": r"\ldots{}", "·": r"$\cdot$",
    "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "–": "--",
    "▲": "$^{+}$", "▼": "$^{-}$", "\xa0": "~", "\n": " ", **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


def tex(text: str) -> str:
    r"""Text that LaTeX sets as it stands; marks of better and worse become $^{+}$ and $^{-}$.

    >>> tex("ndcg@10_a ± 5 %")
    'ndcg@10\\_a $\\pm$ 5 \\%'
    """
    return "".join(_TEX.get(character, character) for character in visible(text))


def tex_comment(text: str) -> str:
    r"""A comment, which no end of a line inside it can leave.

    >>> tex_comment("by age\n\\input{secrets}")
    '% by age \\input{secrets}'
    """
    return "% " + visible(text).replace("\n", " ")


def latex_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    align: str = "l",
    notes: Sequence[str] = (),
    bold: frozenset[tuple[int, int]] = frozenset(),
    rules: Sequence[int] = (),
) -> str:
    r"""A booktabs table; `align` has a letter per column, r where it ends.

    `bold` are cells (row, column), a rule comes before the rows in `rules`.

    >>> print(latex_table(["system", "ndcg@10"], [["bpr", "0.31"]], notes=["5 %"]), end="")
    \begin{tabular}{lr}
    \toprule
    system & ndcg@10 \\
    \midrule
    bpr & 0.31 \\
    \bottomrule
    \multicolumn{2}{l}{\footnotesize 5 \%} \\
    \end{tabular}
    """
    lines = [r"\begin{tabular}{" + aligned(align, head) + "}", r"\toprule"]
    lines += [" & ".join(map(tex, head)) + r" \\", r"\midrule"]
    for r, row in enumerate(rows):
        cells = [rf"\textbf{{{tex(cell)}}}" if (r, c) in bold else tex(cell) for c, cell in enumerate(row)]
        begin = "{}" if cells[0].startswith("[") else ""  # else LaTeX takes it for an option of the line before
        lines += [r"\midrule"] * (r in rules) + [begin + " & ".join(cells) + r" \\"]
    lines.append(r"\bottomrule")
    lines += [rf"\multicolumn{{{len(head)}}}{{l}}{{\footnotesize {tex(note)}}} \\" for note in notes]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"
