"""Comparisons as tables: any width, odd names, Markdown that stays a table and LaTeX that compiles."""

from __future__ import annotations

import io
import re
import shutil
import subprocess

import numpy as np
import pytest
from comparison_worlds import world

import trueval as tv
from trueval.api import Result

ODD = ["a_b & c", "50% {x}", "p|q", "[x]", "back\\slash~^#$", "a<b>c"]


def found(names=("bpr", "als", "a_rather_long_name_of_a_system"), seeds=1):
    rng = np.random.default_rng(5)
    runs = []
    for seed in range(seeds):
        values = {
            name: {m: rng.normal(0.3 + 0.05 * place, 0.2, 50) for m in ("ndcg@10", "recall@10", "unjudged@10")}
            for place, name in enumerate(("pop", *names))
        }
        runs.append(Result(world(values, seed=seed)))
    return tv.compare(runs, baseline="pop")


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("width", [64, 80, 100, 120, 160, 240])
def test_every_verdict_at_every_width(width, seeds):
    comparisons = found(seeds=seeds)
    out = io.StringIO()
    comparisons.print(out, width=width)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for c in comparisons:
        assert c.metric in text
    verdicts = ("better", "no significant difference", "n.s.", "worse", "different", "cannot tell")
    assert sum(text.count(f"  {verdict}") for verdict in verdicts) >= 9
    assert ("repeats" in text) == (seeds > 1)


def test_odd_names_do_not_break_the_terminal():
    text = str(found(ODD))
    for name in ODD:
        assert name in text


def test_odd_names_do_not_break_markdown():
    for line in found(ODD).to_markdown().splitlines():
        if line.startswith("|"):
            cells = len(re.findall(r"(?<!\\)\|", line))
            assert cells in (5, 11), line


def test_latex_compiles(tmp_path):
    """With pdflatex where there is one; otherwise by its structure."""
    comparisons = found(ODD, seeds=2)
    evaluation = Result(world({n: {"ndcg@10": np.random.default_rng(1).random(20)} for n in ("pop", *ODD)}))
    agreement = evaluation.agreement(true=dict(zip(("pop", *ODD), range(7))))
    tables = [comparisons.to_latex(), evaluation.to_latex(baseline="pop"), agreement.to_latex()]
    for table in tables:
        assert table.count(r"\begin{tabular}") == table.count(r"\end{tabular}") == table.count(r"\toprule")
        for block in re.findall(r"\\toprule\n(.*?)\\bottomrule", table, re.S):
            widths = {len(re.findall(r"(?<!\\)&", line)) for line in block.splitlines() if line.endswith(r"\\")}
            assert len(widths) == 1
    if shutil.which("pdflatex") is None:
        return
    text = (
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
        + "\n\n".join(tables)
        + "\n\\end{document}\n"
    )
    (tmp_path / "tables.tex").write_text(text)
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"], cwd=tmp_path, capture_output=True
    )
    assert ran.returncode == 0, ran.stdout[-1500:]
