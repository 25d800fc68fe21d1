"""Tables with footnotes as Markdown and LaTeX (booktabs)."""

from __future__ import annotations

from collections.abc import Sequence

_TEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$",
    "|": r"\textbar{}", "−": "$-$", "±": r"$\pm$", "τ": r"$\tau$", "≠": r"$\neq$", "…": r"\ldots{}", "·": r"$\cdot$",
    "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "–": "--",
    "▲": "$^{+}$", "▼": "$^{-}$", "\xa0": "~", **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


def tex(text: str) -> str:
    r"""Text that LaTeX sets as it stands; marks of better and worse become $^{+}$ and $^{-}$.

    >>> tex("ndcg@10_a ± 5 %")
    'ndcg@10\\_a $\\pm$ 5 \\%'
    """
    return "".join(_TEX.get(character, character) for character in text)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1, notes: Sequence[str] = ()) -> str:
    """A Markdown table; all but the first `words` columns are numbers. Notes follow below.

    >>> print(markdown(["system", "ndcg@10"], [["bpr", "0.31"]], notes=["95 % intervals"]), end="")
    | system | ndcg@10 |
    |---|---:|
    | bpr | 0.31 |
    <BLANKLINE>
    95 % intervals
    """
    lines = [_row(head), "|" + "---|" * words + "---:|" * (len(head) - words), *map(_row, rows)]
    return "\n".join(lines) + "\n" + "".join(f"\n{note}\n" for note in notes)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def latex(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    words: int = 1,
    notes: Sequence[str] = (),
    bold: frozenset[tuple[int, int]] = frozenset(),
    rules: Sequence[int] = (),
) -> str:
    r"""A booktabs table; `bold` are cells (row, column), a rule comes before the rows in `rules`.

    >>> print(latex(["system", "ndcg@10"], [["bpr", "0.31"]], notes=["5 %"]), end="")
    \begin{tabular}{lr}
    \toprule
    system & ndcg@10 \\
    \midrule
    bpr & 0.31 \\
    \bottomrule
    \multicolumn{2}{l}{\footnotesize 5 \%} \\
    \end{tabular}
    """
    lines = [r"\begin{tabular}{" + "l" * words + "r" * (len(head) - words) + "}", r"\toprule"]
    lines += [" & ".join(map(tex, head)) + r" \\", r"\midrule"]
    for r, row in enumerate(rows):
        cells = [rf"\textbf{{{tex(cell)}}}" if (r, c) in bold else tex(cell) for c, cell in enumerate(row)]
        begin = "{}" if cells[0].startswith("[") else ""  # else LaTeX takes it for an option of the line before
        lines += [r"\midrule"] * (r in rules) + [begin + " & ".join(cells) + r" \\"]
    lines.append(r"\bottomrule")
    lines += [rf"\multicolumn{{{len(head)}}}{{l}}{{\footnotesize {tex(note)}}} \\" for note in notes]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"
