"""The pages of the documentation: every example runs, every link leads somewhere, everything public is there."""

from __future__ import annotations

import doctest
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trueval
from trueval.charts import altair
from trueval.metrics.families import FAMILIES
from trueval.metrics.registry import all_metrics
from trueval.recommenders.registry import systems

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
TEXTS = {path.relative_to(DOCS).with_suffix("").as_posix(): path.read_text(encoding="utf-8") for path in PAGES}
# Commands that install or serve something or need a cluster are shown and not run, on these pages alone.
NOT_RUN = {"installation", "howto/spark", "howto/study"}
sys.path.insert(0, str(DOCS / "_ext"))
page_examples: Any = importlib.import_module("page_examples")
generated_text: Any = importlib.import_module("generated_text")
check_offline: Any = importlib.import_module("check_offline")
system_examples: Any = importlib.import_module("system_examples")


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    made = page_examples.Site()
    yield made
    made.close()


@pytest.mark.parametrize("name", TEXTS)
def test_all_examples_run(site: Any, name: str) -> None:
    made = site.expand(name, TEXTS[name])
    assert not re.search(r"^```\{(run|py|chart|check|write|generated)\}", made, re.M)
    assert str(DOCS.parent) not in made, "a page must not show where it was built"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```python\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```{py}\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```{check}\nassert 1 > 2, 'one is less'\n```\n", "one is less"),
        ("```{chart}\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```{run}\ntrueval metrics nonsense\n```\n", "ended with 2, not 0"),
        ("```{run} fails\ntrueval --version\n```\n", "ended with 0, not 2"),
        ("```{run}\nrm -rf everything\n```\n", "only trueval is run"),
    ],
)
def test_an_example_that_fails_stops_the_page(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(page_examples.ExampleError, match=said):
        page_examples.Page("page", tmp_path).expand(text)


def test_output_is_put_in(tmp_path: Path) -> None:
    made = page_examples.Page("page", tmp_path).expand("```{run}\ntrueval --version\n```\n```{py}\nprint(6 * 7)\n```\n")
    assert f"<strong>$ trueval --version</strong>\n{trueval.__version__}\n" in made
    assert "<pre>42\n" in made


def fences(text: str) -> list[tuple[str, str]]:
    """What stands after the opening fence of each block, and its body."""
    return [
        (f["info"].strip(), f["body"]) for f in re.finditer(r"^```(?P<info>.*)\n(?P<body>(?s:.*?))^```$", text, re.M)
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_no_block_escapes_being_run(name: str) -> None:
    ran = ("{run}", "{py}", "{chart}", "{check}", "{write}", "{generated}", "{toctree}", "{eval-rst}")
    others = [info for info, body in fences(TEXTS[name]) if not info.startswith(ran) and ">>>" not in body]
    assert name in NOT_RUN or not set(others) - {""}, others


@pytest.mark.parametrize("name", TEXTS)
def test_links_between_pages_lead_to_pages(name: str) -> None:
    folder = (DOCS / name).parent
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", TEXTS[name]))
    for link in (one for one in links if "://" not in one and not one.startswith("#")):
        assert (folder / link.partition("#")[0]).is_file(), link


def test_every_page_is_in_the_contents_once() -> None:
    listed = []
    for name, text in TEXTS.items():
        folder = Path(name).parent
        for info, body in fences(text):
            if info == "{toctree}":
                entries = [line.strip() for line in body.splitlines() if line.strip() and not line.startswith(":")]
                listed += [(folder / entry).as_posix() for entry in entries]
    assert sorted(listed) == sorted(set(TEXTS) - {"index"})


def test_every_public_name_is_documented_once() -> None:
    pages = "".join(text for name, text in TEXTS.items() if name.startswith("api/"))
    named = re.findall(r"^\.\. auto(?:function|class|exception):: (\w+)$", pages, re.M)
    assert sorted(named) == sorted(trueval._HOME)


def test_every_metric_and_system_has_a_section() -> None:
    made = "".join(
        generated_text.generate(["metrics", family]) for family in FAMILIES if f"reference/metrics/{family}" in TEXTS
    )
    assert re.findall(r"^\(metric-(\w+)\)=$", made, re.M) == [metric.name for metric in all_metrics()]
    assert re.findall(r"^\(system-(\w+)\)=$", generated_text.generate(["systems"]), re.M) == list(systems())


def test_every_system_has_a_worked_example() -> None:
    assert sorted(system_examples.EXAMPLES) == sorted(systems())
    assert all(lines.count(">>> ") for _, lines in system_examples.EXAMPLES.values())


def test_charts_are_put_in_with_ids_of_their_own(tmp_path: Path) -> None:
    if altair.hindrance():
        pytest.skip("pictures need Altair and vl-convert: pip install '.[charts]'")
    block = '```{chart}\ndots("A < B", {"a": {"one": 1, "two": 2}}, says="one & two", x="value")\n```\n'
    made = page_examples.Page("page", tmp_path).expand(block + block)
    assert made.count("<svg") == 2
    assert "A &lt; B" in made
    assert "one &amp; two" in made
    ids = re.findall(r'\bid="([^"]+)"', made)
    assert len(ids) == len(set(ids))
    assert "var(--ink)" in made


def test_values_by_chance_are_those_of_formulas() -> None:
    """Of five drawn from ten items with four relevant: the mean number of hits is 2, and 6 of 252 draws have none."""
    found = {name: value for name, (_, value) in generated_text._chances().items()}
    assert found["precision"] == pytest.approx(2 / 5)
    assert found["recall"] == pytest.approx(2 / 4)
    assert found["hit"] == pytest.approx(1 - 6 / 252)
    assert found["auc"] == pytest.approx(1 / 2)
    assert found["antiprecision"] == pytest.approx(5 * 2 / 10 / 5)


@pytest.mark.parametrize("module", [page_examples, check_offline])
def test_examples_of_the_builder(module: Any) -> None:
    assert not doctest.testmod(module).failed


def test_every_kind_of_record_with_charts_is_listed() -> None:
    offered = importlib.import_module("trueval.charts.offered")
    assert set(generated_text._RECORDS) == set(offered.OFFERS)
