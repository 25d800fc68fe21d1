"""Charts as files, on pages and in notebooks."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import polars as pl
import pytest

import trueval as tv
from trueval.charts.chart import Chart
from trueval.charts.differences import differences_chart
from trueval.errors import DefinitionError, OutputError


@pytest.fixture(scope="module")
def chart() -> Chart:
    test = pl.DataFrame({"user": range(8), "item": range(8)})
    runs = {name: test.with_columns(item=pl.col("item") // n, rank=1) for name, n in (("a<b>", 1), ("b", 2), ("c", 3))}
    return differences_chart(tv.evaluate_run(runs, test, metrics="hit@1,coverage@1", interval="t").compare("b"))


@pytest.mark.parametrize(("ending", "begin"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("json", b"{")])
def test_files_by_their_ending(chart, tmp_path, ending, begin):
    chart.save(tmp_path / f"x.{ending}")
    assert (tmp_path / f"x.{ending}").read_bytes().startswith(begin)


def test_another_ending_is_refused(chart, tmp_path):
    with pytest.raises(OutputError, match="no picture format"):
        chart.save(tmp_path / "x.gif")
    assert not list(tmp_path.iterdir())


def test_a_picture_on_a_page(chart):
    """Well-formed, in the page's colours, described in words, with ids of its own."""
    svg = chart.to_svg(page=True)
    root = ET.fromstring(svg)
    assert "width" not in root.attrib
    assert root.get("aria-label") == f"{chart.title}. {chart.description}"
    assert "var(--ink)" in svg
    assert "#1c1e21" not in svg.lower()
    assert all(name.startswith("differences-") for name in re.findall(r'\bid="([^"]+)"', svg))
    assert not re.findall(r"url\(#(?!differences-)", svg)


def test_names_are_text(chart):
    html = chart.to_html()
    assert "a<b>" not in html
    assert "a&lt;b&gt;" in html


def test_the_declaration_is_vega_lite(chart):
    spec = chart.spec()
    assert "vega-lite" in spec["$schema"]
    json.dumps(spec)


def test_what_to_install_is_said(chart, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(DefinitionError, match=r"trueval\[charts\]"):
        chart.to_svg()


def test_nothing_is_loaded_before_a_picture_is_made():
    import subprocess
    import sys

    code = "import sys, trueval, trueval.charts.differences; print({'altair', 'vl_convert'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


def test_a_notebook_shows_the_picture_without_trust() -> None:
    """JupyterLab takes inline SVG out of notebooks that the reader did not run; pictures as data stay."""
    pytest.importorskip("altair", reason="no charts: pip install '.[charts]'")
    test = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    made = tv.evaluate_run(test.with_columns(rank=1), test, metrics="rr", interval="none").plot("users")._repr_html_()
    assert "<svg" not in made
    picture = base64.b64decode(made.split("base64,")[1].split('"')[0]).decode()
    assert picture.startswith("<svg")
    assert 'fill="#fff"' in picture.split(">")[1]


def test_a_limit_of_addresses_is_no_death() -> None:
    """The converter ends its process where it cannot reserve enough of them: nothing may be asked of it then."""
    pytest.importorskip("resource", reason="limits of processes are known on Unix only")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))\n"
        "import polars as pl, trueval as tv\n"
        "test = pl.DataFrame({'user': [1, 2], 'item': ['a', 'b']})\n"
        "result = tv.evaluate_run(test.with_columns(rank=1), test, metrics='rr', interval='none')\n"
        "print('ulimit -v' in result.to_html())\n"
        "try: result.plot('users').to_svg()\n"
        "except tv.TruevalError as error: print(error.what)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["True", "charts need more room for addresses than this process may have"]
