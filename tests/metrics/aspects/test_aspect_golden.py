"""Worked values of aspect metrics, from the golden file (sections A, B and C), for both forms of the kernels."""

from __future__ import annotations

import pytest

import trueval as tv
from trueval.kernels import use_kernels

GENRES = {"i1": "a", "i2": "a|b", "i3": "b", "i4": "c", "i5": "b|c"}
SEEN = {"t1": "a", "t2": "a|c", "t3": "b"}
RATINGS = {"i1": 5, "i2": 4, "i4": 2, "i5": 3}
PROFILE = {"t1": 4, "t2": 5, "t3": 3}
RANKING = ["i1", "i2", "i3", "i4", "i5"]

TOPICS = {"d1": "1", "d2": "1|2", "d3": "", "d4": "3", "d5": "2|3", "d6": "1|2|3"}
RELEVANT = {"d1": 1, "d2": 1, "d3": 0, "d4": 1, "d5": 1, "d6": 1}
RUN = ["d1", "d2", "d3", "d4", "d5"]
IDEAL = ["d6", "d5", "d2", "d4", "d1", "d3"]


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def kernels(request):
    with use_kernels(request.param):
        yield


def near(value: float):
    return pytest.approx(value, rel=1e-12, abs=1e-14)


def unified(metric: str, ranking=RANKING) -> float:
    return tv.measure(metric, ranking, RATINGS, aspects=GENRES | SEEN, profile=PROFILE)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (
            "profile=test",
            [0.760135135135135, 0.951117452103666, 0.810553703051678, 0.830674258800128, 0.929618286281205],
        ),
        (
            "alpha=0.005",
            [0.989906832298136, 1.010118004112206, 0.871860295663693, 0.894098635869127, 0.980889795905484],
        ),
        (
            "alpha=0.1,beta=0.8,profile=test",
            [0.799005681818182, 0.946163329743334, 0.858126693587116, 0.887809700874017, 0.963334434519429],
        ),
        ("alpha=0.1,beta=0.8", [1.0, 0.953828150457675, 0.864676604528052, 0.899488618553082, 0.97048257539798]),
    ],
)
def test_unified_metric(options: str, values: list[float]):
    assert [unified(f"abndcg@{k}[{options}]") for k in range(1, 6)] == [near(value) for value in values]


def test_unified_metric_in_its_corners():
    ideal = ["i2", "i5", "i1", "i4", "i3"]
    assert unified("abndcg@5[alpha=0.1,beta=0.8,profile=test]", ideal) == near(1.0)
    assert unified("abndcg@4[profile=test]", ["i1", "i2", "i5", "i4"]) == near(0.959756235855503)
    nobody = tv.measure("abndcg@5", RANKING, RATINGS, aspects=GENRES)  # an empty profile: all aspects alike
    assert nobody == near(0.885286180649323)
    unrated = tv.measure("abndcg@1[profile=test]", ["i3"], RATINGS, aspects=GENRES)
    assert unrated == near(0.005912162162162)


def test_the_greedy_ideal_can_be_beaten():
    genres = {"x0": "a|d", "x1": "a|b", "x2": "c|d", "x3": "a|b"}
    ratings = {"x0": 5, "x1": 1, "x2": 5, "x3": 5}
    beaten = tv.measure("abndcg@2[alpha=0,beta=1]", ["x2", "x3"], ratings, aspects=genres)
    assert beaten == near(1.198744761145844)
    assert tv.measure("abndcg@2[alpha=0,beta=1]", ["x0", "x2"], ratings, aspects=genres) == near(1.0)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("alpha_ndcg@3", 0.485878372835143),
        ("alpha_ndcg@5", 0.656465348261027),
        ("alpha_ndcg@3[alpha=0.25]", 0.457156099967414),
        ("alpha_ndcg@5[alpha=0.25]", 0.615324409601048),
        ("nrbp", 0.484375),
        ("nrbp[alpha=0.25,beta=0.9]", 0.464549583333333),
        ("srecall@1", 0.333333333333333),
        ("srecall@2", 0.666666666666667),
        ("srecall@3", 0.666666666666667),
        ("srecall@4", 1.0),
        ("srecall@3[relevant_only=true]", 0.666666666666667),
        ("srr@5", 0.25),
        ("srr@3", 0.0),
        ("srr@5[relevant_only=true]", 0.25),
        ("err_ia@5", 0.532526475037822),
        ("err_ia@10", 0.529051016528371),
        ("err_ia@5[form=plain]", 0.366666666666667),
    ],
)
def test_search_diversity(metric: str, value: float):
    # d6 is relevant to all topics and not shown
    assert tv.measure(metric, RUN, RELEVANT, aspects=TOPICS) == pytest.approx(value, rel=1e-12)


def test_normalised_by_the_greedy_order():
    """nNRBP is the value over that of the ideal order, which α-nDCG calls perfect."""

    def value(metric: str, ranking: list[str]) -> float:
        return tv.measure(metric, ranking, RELEVANT, aspects=TOPICS)

    assert value("nrbp", RUN) / value("nrbp", IDEAL) == near(0.518828451882845)
    assert value("alpha_ndcg@6", IDEAL) == near(1.0)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("eu[profile=test]", 0.962593337726763),
        ("eu@5[gain=graded,profile=test]", 0.752128737603618),
        ("eu[discount=geometric,profile=test]", 1.267859285714286),
        ("rbu[profile=test]", 0.007061858208337),
        ("rbu[e=0.03,p=0.8,profile=test]", 0.134426769047619),
        ("rbu@3[profile=test]", 0.005822636941964),
        ("err_ia@5[form=weighted,profile=test]", 0.519210379464286),
    ],
)
def test_utility(metric: str, value: float):
    # the golden values have 15 decimals
    assert tv.measure(metric, RANKING, RATINGS, aspects=GENRES) == pytest.approx(value, abs=1e-15, rel=1e-13)
