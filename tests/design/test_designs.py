"""Designs: short names that parse and print, and designs that cannot be."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.design.design import Design
from trueval.errors import DefinitionError

AXES = st.fixed_dictionaries(
    {
        "relevant": st.sampled_from(["AR", "1R"]),
        "candidates": st.sampled_from(["AI", "TI", "LIST"]),
        "sample": st.sampled_from([0, 1, 100, 1000]),
        "weights": st.sampled_from(["uniform", "popularity"]),
        "percentiles": st.sampled_from([0, 2, 10]),
        "uniform": st.booleans(),
        "head": st.integers(0, 999).map(lambda n: n / 1000),
        "condensed": st.booleans(),
        "seen": st.sampled_from(["exclude", "allow"]),
        "resample": st.booleans(),
    }
)


def impossible(axes: dict) -> bool:
    one, sampled = axes["relevant"] == "1R", axes["sample"] > 0
    return (
        (axes["percentiles"] and not one)
        or (axes["resample"] and not (one and sampled))
        or (axes["condensed"] and (one or sampled))
        or (axes["weights"] == "popularity" and not sampled)
    )


@given(axes=AXES)
def test_every_design_prints_as_a_name_that_parses_to_it(axes):
    if impossible(axes):
        with pytest.raises(DefinitionError):
            Design(**axes)
        return
    design = Design(**axes)
    assert Design.parse(str(design)) == design
    assert Design.parse(str(design).lower()) == design


@pytest.mark.parametrize(
    ("text", "design"),
    [
        ("AR-TI-AN", Design()),
        ("AR", Design()),
        ("AR-AI-NN1000", Design(candidates="AI", sample=1000)),
        ("1R-TI-NN100", Design(relevant="1R", sample=100)),
        ("P1R10-TI-NN100", Design(relevant="1R", percentiles=10, sample=100)),
        ("U1R", Design(relevant="1R", uniform=True)),
        ("UAR", Design(uniform=True)),
        ("UP1R5-TI-AN", Design(relevant="1R", uniform=True, percentiles=5)),
        ("AR-LIST-NN50pop", Design(candidates="LIST", sample=50, weights="popularity")),
        ("AR-TI-AN-head12.5", Design(head=0.125)),
        ("AR-TI-AN-condensed-seen", Design(condensed=True, seen="allow")),
        ("1R-TI-NN100-resample", Design(relevant="1R", sample=100, resample=True)),
    ],
)
def test_short_names(text, design):
    assert Design.parse(text) == design
    assert Design.parse(design) is design
    assert str(design) == {"AR": "AR-TI-AN", "UP1R5-TI-AN": "UP1R5"}.get(text, text)


def test_the_order_of_words_does_not_matter():
    names = {Design.parse("-".join(words)) for words in permutations(["1R", "AI", "NN20pop", "head5"])}
    assert names == {Design(relevant="1R", candidates="AI", sample=20, weights="popularity", head=0.05)}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("AR-TI-AN-condensd", "did you mean CONDENSED"),
        ("AR-TX-AN", "available: "),
        ("TI-AN", "AR or 1R"),
        ("AR-TI-AI", "same axis twice: candidates"),
        ("AR-AN-NN100", "same axis twice: sample"),
        ("AR-TI-NN0", "at least one"),
        ("PAR10-TI-AN", "percentiles need one relevant"),
        ("1R10-TI-AN", "P1R10"),
        ("P1R-TI-AN", "P1R10"),
        ("P1R0-TI-AN", "at least one percentile"),
        ("AR-TI-NN100-resample", "resample needs"),
        ("1R-TI-AN-resample", "resample needs"),
        ("AR-TI-NN100-condensed", "condensed"),
        ("1R-TI-AN-condensed", "condensed"),
        ("AR-TI-AN-head100", "below 1"),
        ("", "unknown word"),
    ],
)
def test_names_that_mean_nothing_are_refused_with_a_hint(text, told):
    with pytest.raises(DefinitionError, match=told) as caught:
        Design.parse(text)
    assert caught.value.do or caught.value.found


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ({"relevant": "2R"}, "unknown relevant"),
        ({"candidates": "XI"}, "unknown candidates"),
        ({"weights": "pop"}, "unknown weights"),
        ({"seen": "maybe"}, "unknown seen"),
        ({"sample": -1}, "negative"),
        ({"head": 1.0}, "below 1"),
        ({"weights": "popularity"}, "sample"),
    ],
)
def test_axes_that_mean_nothing_are_refused(axes, told):
    with pytest.raises(DefinitionError, match=told):
        Design(**axes)
