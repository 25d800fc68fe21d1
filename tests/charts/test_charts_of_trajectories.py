"""Pictures of feedback loops and snapshots."""

from __future__ import annotations

import polars as pl
import pytest

import trueval as tv
from trueval.errors import DefinitionError

pytest.importorskip("altair", reason="pictures need pip install 'trueval[charts]'")
pytest.importorskip("vl_convert", reason="pictures need pip install 'trueval[charts]'")


@pytest.fixture(scope="module")
def rounds() -> tv.Trajectory:
    return tv.feedback_loop(tv.simulate("world", users=60, items=40, seed=1), "popularity", rounds=3, k=4)


def test_a_panel_for_every_measure(rounds: tv.Trajectory) -> None:
    chart = rounds.plot()
    assert chart.name == "trajectory"
    assert "popularity" in chart.title
    known = rounds.to_polars()
    own = chart.data.filter(pl.col("measure") == "true precision")
    assert own["value"].to_list() == known["true_precision"][1:].to_list()  # nothing is shown before the first round
    svg = chart.to_svg()
    for word in ("Gini", "coverage", "true precision", "round"):
        assert word in svg
    assert "From the first round to the last: Gini" in chart.description


def test_chosen_measures(rounds: tv.Trajectory) -> None:
    chart = rounds.plot(measures=["click_rate"])
    assert set(chart.data["measure"]) == {"click rate"}
    assert "<svg" in chart.to_html()
    with pytest.raises(DefinitionError, match="did you mean gini"):
        rounds.plot(measures=["ginny"])
    with pytest.raises(DefinitionError, match="no measure was chosen"):
        rounds.plot(measures=[])


def test_exposure_of_groups(rounds: tv.Trajectory) -> None:
    chart = rounds.plot("exposure")
    shares = chart.data.group_by("round").agg(pl.col("share").sum())["share"]
    assert shares.to_list() == pytest.approx([1.0] * 4)
    assert "provider 1" in chart.to_svg()
    bare = tv.track([pl.DataFrame({"user": [1, 2], "item": [1, 2]})] * 2)
    with pytest.raises(DefinitionError, match="needs groups"):
        bare.plot("exposure")
    with pytest.raises(DefinitionError, match="no chart"):
        bare.plot("rounds")


def test_many_snapshots_with_long_names() -> None:
    part = pl.DataFrame({"user": [1, 2], "item": ["<b>", "&"]})
    chart = tv.track({f"snapshot of week {n} <i>": part for n in range(40)}).plot()
    svg = chart.to_svg()
    assert "<i>" not in svg
    assert len(chart.data.filter(pl.col("measure") == "Gini")) == 40
