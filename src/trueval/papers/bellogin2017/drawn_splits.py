"""Figure 6: the two splits that limit the bias, as they are on these data."""

from __future__ import annotations

import numpy as np
import polars as pl

from trueval.papers.bellogin2017.evaluation import other_data, uniform_numbers
from trueval.papers.drawing import Axis, Panels, line_chart
from trueval.papers.record import Figure, Statement, claim, number
from trueval.papers.registry import figure
from trueval.papers.setting import Setting
from trueval.render.numbers import percent
from trueval.splits import split
from trueval.splits.parts import Parts

_TITLE = "Rating splits: popularity percentiles, and a uniform number of test ratings"
_PERCENTILES = 10
_POINTS = 250
_A, _B = "a) percentiles, random split", "b) uniform test"


@figure("6", _TITLE)
def drawn_splits(setting: Setting) -> Figure:
    """Ratings of items by popularity rank, in all and in the test part, for both splits."""
    log = setting.log
    random, uniform = split(log, "holdout", ratio=0.2, seed=setting.seed), _uniform(setting)
    assert isinstance(random, Parts)
    table = pl.concat([_ranked(setting, random, _A), _ranked(setting, uniform, _B)])
    known = uniform_numbers(log)
    size = log.n_items / _PERCENTILES
    chart = line_chart(
        "bellogin2017-6",
        _TITLE,
        f"Ratings by item, most popular first. On the left, ten percentiles of about {size:.0f} items end at the "
        f"dashed lines; on the right, the {known['items']:,} most popular items have {known['eta']} test ratings each.",
        table,
        Panels(Axis("rank", "popularity rank", format=",d"), Axis("ratings", "ratings", format=",d", zero=True),
               series="part", panel="split", points=False,
               marks={_A: [size * k for k in range(1, _PERCENTILES)], _B: [float(known["items"])]}),
    )  # fmt: skip
    return Figure("6", _TITLE, {"bellogin2017-6": table}, {"bellogin2017-6": chart}, tuple(_claims(setting, uniform)))


def _uniform(setting: Setting) -> Parts:
    made = split(setting.log, "uniform_test", ratio=0.2, eps=0.2, round="nearest", seed=setting.seed)
    assert isinstance(made, Parts)
    return made


def _ranked(setting: Setting, parts: Parts, name: str) -> pl.DataFrame:
    """Ratings in all and in test, by popularity rank; every so many ranks their mean."""
    every = setting.log.frame.group_by("item").len("all").sort("all", "item", descending=[True, False])
    test = parts.test.frame.group_by("item").len("test")
    both = every.join(test, on="item", how="left", maintain_order="left").fill_null(0)
    cells = np.array_split(np.arange(len(both)), min(_POINTS, len(both)))
    rows = [
        (name, part, int(cell[-1]) + 1, float(both[column].to_numpy()[cell].mean()))
        for part, column in (("all ratings", "all"), ("test ratings", "test"))
        for cell in cells
    ]
    return pl.DataFrame(rows, schema=("split", "part", "rank", "ratings"), orient="row")


def _claims(setting: Setting, uniform: Parts) -> list[Statement]:
    log, known = setting.log, uniform_numbers(setting.log)
    per_item = sorted(uniform.test.frame.group_by("item").len()["len"].to_list())
    reached = float(uniform.how["reached"])
    size = log.n_items / _PERCENTILES
    apart = other_data(setting)
    exact = [
        number("6", "|T| of the uniform test (σ = 0.2, ε = 0.2)", published=1703, here=known["items"], tolerance=0,
               apart=apart),
        number("6", "η, test ratings of each item", published=118, here=known["eta"], tolerance=0,
               note="0.8 · 147 = 117.6, rounded as in the paper; 29 of the 147 ratings stay in train, a "
               "little less than ε", apart=apart),
        number("6", "size of one of ten percentiles", published=370, here=size, tolerance=1, digits=0, apart=apart),
    ]  # fmt: skip
    uniformly = claim(
        "6", "every item of T has exactly η test ratings",
        holds=per_item == [known["eta"]] * known["items"],
        evidence=f"{len(per_item):,} items with {per_item[0]} to {per_item[-1]} test ratings; "
        f"{percent(reached, 2)} of all ratings are tested",
    )  # fmt: skip
    return [*exact, uniformly]
