"""The metric grammar: what parses, what it is called, and where a complaint points."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_worlds import every_spec

import trueval as tv
from trueval.errors import DefinitionError
from trueval.metrics.grammar import parse, parse_all, split_list
from trueval.metrics.registry import Parameter, all_metrics, find, metric, names

# ---- canonical text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("ndcg@10", "ndcg@10"),
        ("  ndcg @10 ", "ndcg@10"),
        ("ndcg@010", "ndcg@10"),
        ("ndcg", "ndcg"),
        ("recall[cap=true]@20", "recall@20[cap=true]"),
        ("recall@20[cap=True]", "recall@20[cap=true]"),
        ("recall@20[cap=false]", "recall@20"),
        ("ndcg@5[ideal=full, gain=exp]", "ndcg@5[gain=exp,ideal=full]"),
        ("ndcg@5[ gain = exp ]", "ndcg@5[gain=exp]"),
        ("ndcg@5[gain=linear,discount=log2,ideal=cut]", "ndcg@5"),
        ("fbeta@5[beta=2.0]", "fbeta@5[beta=2]"),
        ("fbeta@5[beta=1]", "fbeta@5"),
        ("fbeta@5[beta=5e-1]", "fbeta@5[beta=0.5]"),
        ("rbp[p=0.80]", "rbp"),
        ("rbp[p=0.1234567]", "rbp[p=0.1234567]"),  # every digit is part of the identity
        ("mrr@3", "rr@3"),
        ("map", "ap"),
        ("p@5", "precision@5"),
        ("hr@5", "hit@5"),
        ("anti(precision)@10", "anti(precision)@10"),
        ("anti(precision@10)", "anti(precision)@10"),
        ("anti( precision@10[denom=list] )", "anti(precision)@10[denom=list]"),
        ("anti(precision[denom=list])@10", "anti(precision)@10[denom=list]"),
        ("anti(p)@10", "anti(precision)@10"),
        ("anti(auc)", "anti(auc)"),
    ],
)
def test_canonical_text(text, canonical):
    spec = parse(text)
    assert str(spec) == canonical
    assert parse(canonical) == spec
    assert hash(parse(canonical)) == hash(spec)


def test_parts_of_a_spec():
    spec = parse("anti(ndcg)@7[discount=lenskit]")
    assert (spec.metric.name, spec.k, spec.transforms) == ("ndcg", 7, ("anti",))
    assert spec.parameters["discount"] == "lenskit"
    assert spec.parameters["ideal"] == "cut"
    assert parse(spec) is spec
    assert spec != "anti(ndcg)@7[discount=lenskit]"


def test_every_form_of_every_metric_survives_the_round_trip():
    for spec in every_spec():
        back = parse(str(spec))
        assert back == spec
        assert (back.k, dict(back.parameters), back.transforms) == (spec.k, dict(spec.parameters), spec.transforms)


def test_different_forms_have_different_texts():
    specs = every_spec()
    assert len({str(spec) for spec in specs}) == len(
        {(s.metric.name, s.k, *map(str, s.parameters.items())) for s in specs}
    )


def test_better_turns_round_with_relevance():
    assert (parse("precision@5").better, parse("anti(precision)@5").better) == ("higher", "lower")
    assert parse("mae").better == "lower"
    assert parse("unjudged@5").better == "neither"


def test_a_definition_names_every_parameter():
    words = parse("ndcg@5[gain=exp]").definition
    assert "gain=exp" in words
    assert "ideal=cut" in words
    assert "flipped" in parse("anti(precision)@5").definition


# ---- several metrics


def test_lists_of_metrics():
    assert split_list("ndcg@10, recall@5[cap=true],ndcg@5[gain=exp,ideal=k] ,") == [
        "ndcg@10",
        "recall@5[cap=true]",
        "ndcg@5[gain=exp,ideal=k]",
    ]
    assert [str(s) for s in parse_all("rr, ndcg@5[gain=exp,ideal=k]")] == ["rr", "ndcg@5[gain=exp,ideal=k]"]
    assert [str(s) for s in parse_all(["rr", parse("ap")])] == ["rr", "ap"]
    assert [str(s) for s in parse_all(parse("ap"))] == ["ap"]


@pytest.mark.parametrize(
    "texts",
    [
        ["ndcg@10", "ndcg@10"],
        "ndcg@10,recall@5, ndcg@10",
        ["rr", "mrr"],
        ["recall@5", "recall[cap=false]@5"],
        ["anti(precision@3)", "anti(p)@3"],
    ],
)
def test_the_same_metric_twice(texts):
    with pytest.raises(DefinitionError, match="is given twice"):
        parse_all(texts)


def test_almost_the_same_metric_is_another():
    assert len(parse_all(["rbp[p=0.1234567]", "rbp[p=0.1234568]", "rbp@5", "rbp", "f1@5", "fbeta@5"])) == 6


@pytest.mark.parametrize("texts", [[], "", " , "])
def test_no_metric_at_all(texts):
    with pytest.raises(DefinitionError, match="no metric"):
        parse_all(texts)


def test_a_bad_metric_stops_an_evaluation():
    import polars as pl

    rows = pl.DataFrame({"user": [1], "item": [1], "rank": [1]})
    with pytest.raises(tv.TruevalError, match="unknown metric 'ndgc'"):
        tv.evaluate_run(rows, rows.select("user", "item"), metrics="ndgc@10")
    with pytest.raises(tv.TruevalError, match="twice"):
        tv.evaluate_run(rows, rows.select("user", "item"), metrics=["rr", "mrr"])


# ---- complaints: the caret is under the first character of what is wrong


def complaint(text: str) -> tuple[DefinitionError, str]:
    with pytest.raises(DefinitionError) as caught:
        parse(text)
    shown, caret = caught.value.where.split("\n")
    assert shown == text
    assert re.fullmatch(r" *\^", caret)
    return caught.value, text[len(caret) - 1 :]


@pytest.mark.parametrize(
    ("text", "what", "rest"),
    [
        # cutoffs
        ("ndcg@0", "at least 1", "0"),
        ("ndcg@-1", "at least 1", "-1"),
        ("ndcg@2.5", "at least 1", "2.5"),
        ("ndcg@+3", "at least 1", "+3"),
        ("ndcg@100000000000000000000", "at most 100,000,000", "100000000000000000000"),
        ("ndcg@ten", "a whole number was expected", "ten"),
        ("ndcg@", "a whole number was expected", ""),
        ("ndcg@1e3", "unexpected text", "e3"),
        ("ndcg@5@10", "cutoff is given twice", "@10"),
        ("anti(ndcg@5)@10", "cutoff is given twice", "@10"),
        ("auc@10", "auc has no cutoff", "@10"),
        ("anti(auc@10)", "auc has no cutoff", "@10)"),
        ("precision", "precision needs a cutoff", ""),
        ("precision[denom=list]", "precision needs a cutoff", ""),
        ("ap[denom=k]", "denom=k of ap needs a cutoff", "k]"),
        ("ndcg[gain=exp,ideal=k]", "ideal=k of ndcg needs a cutoff", "k]"),
        # names
        ("ndgc@10", "unknown metric 'ndgc'", "ndgc@10"),
        (" ndgc@10", "unknown metric 'ndgc'", "ndgc@10"),
        ("anti(ndgc)@10", "unknown metric 'ndgc'", "ndgc)@10"),
        ("auntie(ndcg)@10", "unknown transform 'auntie'", "auntie(ndcg)@10"),
        ("", "a metric name was expected", ""),
        ("@10", "a metric name was expected", "@10"),
        ("10@ndcg", "a metric name was expected", "10@ndcg"),
        ("anti()@5", "a metric name was expected", ")@5"),
        # parameters
        ("precision@5[p=1]", "precision has no parameter 'p'", "p=1]"),
        ("recall@5[cap=true,capp=true]", "recall has no parameter 'capp'", "capp=true]"),
        ("rr[k=3]", "rr has no parameter 'k'", "k=3]"),
        ("ndcg@5[gain=expo]", "gain of ndcg cannot be 'expo'", "expo]"),
        ("ndcg@5[gain=exp,ideal= best]", "ideal of ndcg cannot be 'best'", "best]"),
        ("recall@5[cap=1]", "cap of recall cannot be '1'", "1]"),
        ("rbp[p=high]", "p of rbp must be a number", "high]"),
        ("rbp[p=1]", "p of rbp must be from 0", "1]"),
        ("rbp[p=-0.1]", "p of rbp must be from 0", "-0.1]"),
        ("rbp[p=nan]", "p of rbp must be from 0", "nan]"),
        ("fbeta@5[beta=inf]", "beta of fbeta must be from 0", "inf]"),
        ("ndcg@5[gain=exp,gain=exp]", "gain is given twice", "gain=exp]"),
        ("anti(precision[denom=list])@5[denom=k]", "denom is given twice", "denom=k]"),
        ("ndcg@5[gain=exp][ideal=k]", "parameters are given twice", "[ideal=k]"),
        # syntax
        ("ndcg@5[gain]", "gain=value was expected", "]"),
        ("ndcg@5[gain=]", "a value for gain was expected", "]"),
        ("ndcg@5[=exp]", "a parameter name was expected", "=exp]"),
        ("ndcg@5[]", "a parameter name was expected", "]"),
        ("ndcg@5[gain=exp", "a comma or a closing bracket was expected", ""),
        ("ndcg@5[gain=exp,", "a parameter name was expected", ""),
        ("ndcg@5 recall@5", "unexpected text", "recall@5"),
        ("ndcg@5]", "unexpected text", "]"),
        ("anti(precision@5", "a closing parenthesis was expected", ""),
        ("precision@5)", "unexpected text", ")"),
        # transforms
        ("anti(anti(precision))@5", "transforms cannot be nested", "anti(precision))@5"),
        ("anti(coverage)@5", "takes an accuracy metric, and coverage is not one", "coverage)@5"),
    ],
)
def test_the_caret_is_under_what_is_wrong(text, what, rest):
    error, found = complaint(text)
    assert what in error.what
    assert found == rest


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("ndgc@10", "ndcg"),
        ("NDCG@10", "ndcg"),
        ("Precision@10", "precision"),
        ("recal@10", "recall"),
        ("mean_reciprocal@3", "available:"),
        ("ndcg@5[gian=exp]", "gain"),
        ("ndcg@5[gain=expo]", "exp"),
        ("rr[x=1]", "it has none"),
        ("ant(precision)@3", "anti"),
    ],
)
def test_suggestions(text, suggestion):
    error, _ = complaint(text)
    assert suggestion in error.do


def test_what_to_do():
    assert complaint("precision")[0].do == "for example precision@10"
    assert complaint("auc@10")[0].do == "write auc"


@given(st.text(alphabet="ndcgapr@[](),=.- 105", max_size=14))
def test_any_text_is_a_metric_or_a_complaint(text):
    try:
        spec = parse(text)
    except DefinitionError as error:
        shown, caret = error.where.rsplit("\n", 1)
        assert shown == text
        assert 0 <= caret.index("^") <= len(text)
    else:
        assert parse(str(spec)) == spec


# ---- the registry


def test_names_and_aliases():
    assert set(names()) == {name for m in all_metrics() for name in (m.name, *m.aliases)}
    assert find("mrr") is find("rr")
    with pytest.raises(DefinitionError, match="unknown metric"):
        find("nothing")


def test_a_name_is_taken_once():
    def register(**record):
        @metric(family="accuracy", formula="x", range=(0, 1), reference="x", **record)
        def taken(facts, k):
            raise NotImplementedError

    with pytest.raises(TypeError, match="two metrics are called rr"):
        register(name="rr")
    before = set(names())
    with pytest.raises(TypeError, match="keywords"):
        register(name="something_new", parameters={"depth": Parameter(1.0)})
    with pytest.raises(TypeError, match="keywords"):
        register(name="something_new", needs=("train",))
    assert set(names()) == before


@pytest.mark.parametrize("text", ["recall@10", "precision@10", "auc", "recall@10[beta=0.5]"])
def test_options_that_change_nothing_are_not_printed(text):
    """A plain metric has no weights by popularity, and its definition does not speak of them."""
    printed = parse(text).definition
    assert ("beta=" in printed) == ("beta" in text)
    assert "gamma=" not in printed
    assert "count_from=" not in printed  # the formula says it in words
