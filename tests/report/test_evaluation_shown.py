"""An evaluation on terminals of any width, as a page, and in words."""

from __future__ import annotations

import io
import math
import re
from functools import cache

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.render.html_elements import Bar, Section
from trueval.render.numbers import short_percent
from trueval.report.findings import findings, listed
from trueval.report.html_page import html_page
from trueval.report.terminal import print_evaluation


@cache
def result() -> tv.Result:
    users = [u for u in range(40) for _ in range(3)]
    good = [(u * 3 + j) % 30 for u in range(40) for j in (0, 1, 9)]
    bad = [(u * 3 + j) % 30 for u in range(40) for j in (0, 14, 9)]
    runs = {
        name: pl.DataFrame({"user": users, "item": items, "rank": [1, 2, 3] * 40})
        for name, items in (("good", good), ("bad", bad), ("a_rather_long_name_of_a_system", bad))
    }
    test = pl.DataFrame({"user": users, "item": [(u * 3 + j) % 30 for u in range(40) for j in (0, 1, 2)]})
    metrics = "ndcg@3,precision@3,recall@3,unjudged@3,coverage@3,rr"
    return tv.evaluate_run(runs, test, items=list(range(30)), metrics=metrics)


def shown(width: int, **options: bool) -> list[str]:
    out = io.StringIO()
    comparisons = result().compare("bad")
    print_evaluation(result().evaluation, file=out, comparisons=comparisons, width=width, **options)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 72, 80, 100, 120, 160, 240])
def test_every_number_is_shown_at_every_width(width: int) -> None:
    lines = shown(width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text.replace(" … ", "")  # nothing is cut off, intervals apart
    value = result()["good", "precision@3"].value
    assert f"{value:.4f}".lstrip("0") in text
    for metric in result().evaluation.specs:
        assert metric in text


def test_verdicts_are_signs_in_the_table() -> None:
    row = next(line for line in shown(240) if line.startswith("good"))
    assert "▲" in row
    assert "▼" not in row
    assert not any(sign in line for line in shown(240) if line.startswith("bad") for sign in "▲▼")


def test_brief_leaves_out_comparisons_and_definitions() -> None:
    brief, full = "\n".join(shown(120, brief=True)), "\n".join(shown(120))
    assert "compared with bad" in full
    assert "compared with bad" not in brief
    assert "|top(k) ∩ Rel| / k" in full
    assert "|top(k) ∩ Rel| / k" not in brief


def test_words_follow_the_values() -> None:
    told = findings(result().evaluation, result().compare("bad"))
    chance, best = result().random["ndcg@3"], result()["good", "ndcg@3"].value
    assert f"{short_percent(chance / best)} of good's value" in told[0]
    difference = best - result()["bad", "ndcg@3"].value
    assert any(line.startswith(f"good is better than bad on ndcg@3 ({difference:+.4f}") for line in told)
    base = result()["bad", "ndcg@3"].value
    share = short_percent((base - chance) / (best - chance))
    assert f"The baseline, bad, reaches {share} of good's lead over chance." in told
    unjudged = short_percent(result()["good", "unjudged@3"].value)
    assert any("no rating from the user" in line and f"{unjudged} of good's" in line for line in told)


def test_a_baseline_that_beats_all_is_said_without_a_catalogue_too() -> None:
    pairs = [(u, i) for u in range(60) for i in (u, u + 100)]
    test = pl.DataFrame(pairs, ["user", "item"], orient="row")
    runs = {
        name: test.with_columns(item=pl.col("item") + 1000 * (pl.col("user") % n > 0), rank=pl.Series([1, 2] * 60))
        for name, n in (("all", 1), ("half", 2), ("third", 3))
    }
    compared = tv.evaluate_run(runs, test, metrics="precision@2,coverage@2")
    assert not compared.evaluation.random
    told = findings(compared.evaluation, compared.compare("all"))
    start = "The baseline, all, is better than every other system on precision@2; half comes closest (−0.5000"
    assert told[0].startswith(start)
    assert findings(compared.evaluation, compared.compare("third"))[0].startswith("all is better than third")


def test_one_user_is_no_comparison() -> None:
    test = pl.DataFrame({"user": [1], "item": [1]})
    lists = {"a": [1, 2], "b": [2, 1]}
    runs = {name: pl.DataFrame({"user": [1, 1], "item": items, "rank": [1, 2]}) for name, items in lists.items()}
    found = tv.evaluate_run(runs, test, metrics="hit@1")
    assert findings(found.evaluation, found.compare("b")) == [
        "a and b cannot be compared on hit@1: only one user has a value for both systems."
    ]


def test_what_is_no_better_than_chance_is_said() -> None:
    shuffled = np.random.default_rng(1).permuted(np.tile(np.arange(12), (200, 1)), axis=1)
    run = pl.DataFrame({"user": np.repeat(np.arange(200), 2), "item": shuffled[:, :2].ravel(), "rank": [1, 2] * 200})
    test = pl.DataFrame({"user": np.arange(200), "item": np.arange(200) % 12})
    told = findings(tv.evaluate_run(run, test, items=list(range(12)), metrics="hit@2").evaluation)
    assert told == ["The value of a random ranking on hit@2, 0.1667, lies within the interval of run."]


def test_no_words_where_there_is_nothing_to_say() -> None:
    recs = pl.DataFrame({"user": [1], "item": [1], "rank": [1]})
    test = pl.DataFrame({"user": [1], "item": [1]})
    assert findings(tv.evaluate_run(recs, test, metrics="rr").evaluation) == []
    assert listed([]) == ""


def test_page_escapes_what_it_is_given() -> None:
    evil = '<script>alert("x")</script>'
    recs = pl.DataFrame({"user": [1], "item": [1], "rank": [1]})
    test = pl.DataFrame({"user": [1], "item": [1]})
    evaluation = tv.evaluate_run({evil: recs}, test, metrics="rr").evaluation
    section = Section(evil, [evil], tiles=[(evil, evil)], columns=[evil], rows=[[evil, Bar(0.5, evil)]], code=evil)
    page = html_page(evaluation, title=evil, lead=evil, about={evil: evil}, notes=[evil], sections=[section])
    assert page.count("<script") == 1  # ours
    assert page.count("&lt;script&gt;") > 10


def test_page_shows_every_value_interval_and_comparison() -> None:
    page = html_page(result().evaluation, comparisons=result().compare("bad"))
    for name, system in result().evaluation.systems.items():
        assert name in page
        for estimate in system.estimates.values():
            assert f"{estimate.value:.4f}" in page
            if not math.isnan(estimate.low):
                assert f"95 % interval {estimate.low:.4f} to {estimate.high:.4f}" in page
    for comparison in result().compare("bad"):
        ends = ["–" if math.isnan(end) else f"{end:.4f}" for end in (comparison.low, comparison.high)]
        assert re.search(">{}</td><td[^>]*>{}</td>".format(*map(re.escape, ends)), page)
    for definition in ("|top(k) ∩ Rel| / k", "bootstrap"):
        assert definition in page


def test_bars_keep_to_scale() -> None:
    page = html_page(result().evaluation)
    card = page[page.index(">precision@3<") :].split("</section>")[0]
    widths = [float(part.split('width="')[1].split("%")[0]) for part in card.split('class="bar"')[1:]]
    values = [result()[name, "precision@3"].value for name in result().evaluation.systems]
    tops = [result()[name, "precision@3"].high for name in result().evaluation.systems]
    assert widths == pytest.approx([100 * value / max(tops) for value in values], abs=0.01)
