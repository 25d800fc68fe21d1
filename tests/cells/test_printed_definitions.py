"""What is printed is what is computed: every definition of a result, evaluated as it is written, gives its value.

The parameters of the naive evaluation (`printed_definitions`) come from the printed text alone: formula, options,
threshold, population, order of equals, and what a preset adds. Cells: every metric, with every option and every
transform, × preset × threshold × population × graded and binary values × ties.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import naive_cells as oracle
import pytest
from cell_worlds import item_table, lists_of, parts_of, propensity_table, random_world, run_table, score_matrix, table
from naive_cells import Axes, Unit, World
from printed_definitions import NOTHING, Definition, Printed, computed, read_foot, read_result

import trueval as tv
from trueval.cli.metrics import explain
from trueval.errors import TruevalError
from trueval.evaluation.compat import PRESETS
from trueval.metrics.grammar import parse
from trueval.metrics.registry import all_metrics
from trueval.metrics.spec import WEIGHTING, Spec
from trueval.metrics.wording import SIGNS
from trueval.report.terminal import footer

# A value of every option that is a number, another than its default.
NUMBERS = {
    "beta": "0.5", "gamma": "1", "p": "0.6", "gmax": "6", "alpha": "0.3", "e": "0.1", "head": "0.4", "tail": "0.2",
    "clip": "2",
}  # fmt: skip


@cache
def options_of(name: str, transform: str) -> list[str]:
    """Each option of a metric with each value that is not its default, and some together."""
    (metric,) = (metric for metric in all_metrics() if metric.name == name)
    parameters = dict(metric.parameters)
    if transform in ("ips", "snips"):
        parameters = {name: p for name, p in parameters.items() if name in ("gain", "discount", "p")}
        parameters |= WEIGHTING if transform == "snips" else {"clip": WEIGHTING["clip"]}
    found = [""]
    for option, parameter in parameters.items():
        values = [str(c).lower() for c in parameter.choices if c != parameter.default] or [NUMBERS[option]]
        found += [f"[{option}={value}]" for value in values]
    if "count_from" in parameters and not transform:
        found += ["[beta=0.5,count_from=train]", "[gamma=1,count_from=test]"]
        found += ["[beta=0.5,average=mean]"] if "average" in parameters else []
    if name == "eu":
        found += ["[discount=geometric,beta=0.7]"]
    if name == "ndcg":
        found += ["[gain=exp,discount=lenskit,ideal=k]"] if not transform else []
    return found


@cache
def texts() -> list[str]:
    """Every metric of the grammar, as far as it can be written."""
    found = []
    for metric in all_metrics():
        transforms = [""]
        transforms += ["anti"] if metric.transformed else []
        transforms += ["snips"] if metric.terms is not None else []
        transforms += ["ips"] if metric.plain_sum else []
        for transform in transforms:
            for cut in {"none": [""], "optional": ["", "@2"], "required": ["@2", "@20"]}[metric.cutoff]:
                for options in options_of(metric.name, transform):
                    name = f"{transform}({metric.name})" if transform else metric.name
                    try:
                        found.append(str(parse(f"{name}{cut}{options}")))
                    except TruevalError:
                        assert options or transform, f"{name}{cut} is refused"
    return list(dict.fromkeys(found))


@cache
def world_of(seed: int, graded: bool) -> World:
    """Values from 0 to 4, or 0 and 1; everybody but u4 has test rows, of u0 none is relevant."""
    world = random_world(seed)

    def turned(part: Any) -> Any:
        return {u: {i: v - 1 if graded else float(v >= 3) for i, v in row.items()} for u, row in part.items()}

    return replace(world, train=turned(world.train), test=turned(world.test))


def wrong_of(result: tv.Result, world: World, units: Sequence[Unit], *, whole: bool) -> list[str]:
    """Metrics whose printed definition gives another value than the printed one; all that is printed, or the foot."""
    printed = read_result(str(result)) if whole else read_foot("\n".join(footer(result.evaluation)))
    definitions, wrong = result.manifest["definitions"], []
    assert {label: Definition.read(words) for label, words in definitions.items()} == dict(printed.definitions)
    ((_, system),) = result.evaluation.systems.items()
    for label, estimate in system.estimates.items():
        value = estimate.value
        right, shown = computed(printed, label, world, units), printed.values.get(label, "")
        if math.isnan(right) or math.isnan(value):
            same = math.isnan(right) and math.isnan(value)
        else:
            same = math.isclose(value, right, rel_tol=1e-9, abs_tol=1e-11)
            if whole:
                same &= abs(float(shown) - right) <= 0.5000001 * 10 ** -len(shown.partition(".")[2])
        if not same:
            wrong.append(f"{label}: {shown} ({value}), but {definitions[label]!r} is {right}")
    return wrong


# Preset, population, order of equals: without a preset every population and rule, presets with their library's order.
POPULATIONS = ("relevant", "judged", "all")
SETTINGS = [
    *((None, population, "given") for population in POPULATIONS),
    *((None, "judged", ties) for ties in ("expected", "best", "worst")),
    *((name, "relevant", "random" if preset.ties else "expected") for name, preset in PRESETS.items()),
]
VALUES = [(False, None), (True, None), (True, 2.0)]  # graded or binary, and the threshold
VALUE_IDS = ["binary", "graded", "threshold"]


def divided_otherwise(spec: Spec, compat: str | None) -> bool:
    """Whether a preset divides by something that has no weights, which is refused with weights."""
    changed = PRESETS[compat].parameters.get(spec.metric.name, {}) if compat else {}
    weights = {"ips", "snips"} & set(spec.transforms) or "w = " in spec.formula()
    return bool(weights) and bool(changed.keys() & {"cap", "denom"})


def listed(text: str, compat: str | None, population: str, ties: str, *, condensed: bool) -> bool:
    """Whether a metric of lists has a value under these settings."""
    spec, preset = parse(text), PRESETS.get(compat or "")
    metric, weighted = spec.metric, bool({"ips", "snips"} & set(spec.transforms))
    if metric.exact or metric.family == "errors" or (preset and metric.name in preset.refused):
        return False
    if (weighted and condensed) or divided_otherwise(spec, compat):
        return False
    if "ips" in spec.transforms and (preset.population if preset else population) != "all":
        return False
    if condensed and metric.name == "precision" and (spec.parameters["beta"] or spec.parameters["gamma"]):
        return False
    settled = ties == "given" or (ties == "random" and preset is not None)
    return settled or (metric.ties == "judged" and (ties == "expected" or spec.better != "neither"))


@pytest.mark.parametrize(("graded", "threshold"), VALUES, ids=VALUE_IDS)
@pytest.mark.parametrize("condensed", [False, True], ids=["given", "condensed"])
def test_lists(condensed: bool, graded: bool, threshold: float | None):
    world, wrong, cells = world_of(3, graded), [], 0
    lists = lists_of(world, seen=False)
    units = oracle.units_of_lists(world, lists, Axes(condensed=condensed))
    for compat, population, ties in SETTINGS[1:7:5] if condensed else SETTINGS:
        extreme = ties in ("best", "worst")
        if extreme and threshold is None:
            continue
        result = tv.evaluate_run(
            run_table(world, lists), table(world.test), train=table(world.train), items=item_table(world),
            metrics=[
                text for text in texts()
                if listed(text, compat, population, ties, condensed=condensed) and not (extreme and "@20" in text)
            ],
            propensity=propensity_table(world), threshold=threshold, interval="none", condensed=condensed,
            compat=compat, population=population, ties=ties,
        )  # fmt: skip
        found = wrong_of(result, world, units, whole=extreme)
        wrong += [f"{compat or population}, {ties}: {each}" for each in found]
        cells += len(result.evaluation.specs)
    assert not wrong, f"{len(wrong)} of {cells} cells are wrong\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize(("graded", "threshold"), VALUES, ids=VALUE_IDS)
def test_systems(graded: bool, threshold: float | None):
    """Metrics that need the rank of every item, or predicted ratings; equal scores in expectation."""
    world, wrong, cells = world_of(3, graded), [], 0
    units = oracle.units_of(world, Axes(test_items=False))
    parts = parts_of(world, "given")
    exact = [t for t in texts() if parse(t).metric.exact or parse(t).metric.family == "errors" or "(recall)" in t]
    settings = [*((None, population) for population in POPULATIONS), *((name, "relevant") for name in PRESETS)]
    for compat, population in settings:
        metrics = [t for t in exact if not t.startswith("ips") and not divided_otherwise(parse(t), compat)]
        result = tv.evaluate(
            parts, {"s": tv.Scores(score_matrix(world))}, metrics=metrics, compat=compat, population=population,
            ties="expected", interval="none", design="AR-AI-AN", threshold=threshold,
            propensity=propensity_table(world),
        )  # fmt: skip
        wrong += [f"{compat or population}: {each}" for each in wrong_of(result, world, units, whole=compat is None)]
        cells += len(result.evaluation.specs)
    assert not wrong, f"{len(wrong)} of {cells} cells are wrong\n" + "\n".join(wrong[:20])


# ---- metrics in full -----------------------------------------------------------------------------------------------


def example_of(text: str) -> tuple[str, dict[str, Any], float]:
    """The worked example of `trueval metrics`: the function, its arguments by name, and the value."""
    call, value = text[text.index(">>>") + 3 :].strip().split("\n")[:2]
    inner = ast.parse(call.strip(), mode="eval").body
    assert isinstance(inner, ast.Call)
    inner = inner.args[0]
    assert isinstance(inner, ast.Call)
    names = ["metric", "ranked", "judged", *(str(keyword.arg) for keyword in inner.keywords)]
    written = [*inner.args, *(keyword.value for keyword in inner.keywords)]
    assert isinstance(inner.func, ast.Name)
    return inner.func.id, {name: eval(ast.unparse(part)) for name, part in zip(names, written)}, float(value)


def by_hand(definition: Definition, given: dict[str, Any]) -> float:
    """A formula evaluated on the data of a worked example."""
    ranked, judged = given["ranked"], {item: float(value) for item, value in given["judged"].items()}
    profile = {item: float(value) for item, value in given.get("profile", {}).items()}
    items = sorted({*ranked, *judged, *profile, *given.get("aspects", {})})
    aspects = {item: words.split("|") for item, words in given.get("aspects", {}).items()}
    scores = {item: float(-at) for at, item in enumerate(ranked)}
    world = World({"u": profile}, {"u": judged}, {"u": scores}, aspects, given.get("propensity", {}), NOTHING)
    positives = given.get("positives", {})
    world.__dict__["liked"] = {
        "train": dict.fromkeys(items, 0),
        "test": {item: positives.get(item, 0) for item in items},
    }
    targets = tuple(item for item in items if item not in profile) if aspects else None
    unit = Unit("u", judged, (tuple((item,) for item in ranked),), targets=targets)
    name = given["metric"]
    printed = Printed({}, {}, {name: definition}, "given", "all", 1, "given", NOTHING)
    return computed(printed, name, world, [unit])


def contradictions(text: str, shown: str) -> list[str]:
    """What an explanation says in one line and denies in another, and signs that no line explains."""
    rows = [row[2:] for row in shown.partition("  example")[0].splitlines()[2:] if row]
    explained = " ".join(row for row in rows if row.startswith("signs"))
    body = " ".join(row[12:] for row in rows if not row.startswith(("signs", "reference")))
    signs = [sign for sign in SIGNS if re.search(rf"\b{sign}\b", body)]
    faults = [f"{sign} without a word on what it is" for sign in signs if f"{sign}: {SIGNS[sign]}" not in explained]
    faults += ["looks at Rel and R, flipped"] * (text.startswith("anti(") and bool({"Rel", "R"} & set(signs)))
    return faults + ["has Rel, and no relevance"] * ("Rel" in signs and "regardless of relevance" in body)


def test_metrics_in_full():
    """Direction, formula, range and worked example of every metric that can be written agree with each other."""
    wrong, checked = [], 0
    for text in texts():
        spec, shown = parse(text), explain(text)
        lower = shown.startswith("anti(") or spec.metric.better == "lower"
        words = "neither direction" if spec.metric.better == "neither" else "lower" if lower else "higher"
        line = {row[:12].strip(): row[12:].strip() for row in reversed(shown.splitlines()) if row[:2] == "  "}
        faults = [f"says {line['range']}"] * (f"{words} is better" not in shown)
        faults += contradictions(text, shown)
        with_cutoff = parse(f"{text}@2") if text == spec.metric.name and spec.metric.cutoff == "optional" else spec
        faults += [f"another formula than {with_cutoff}"] * (not with_cutoff.definition.startswith(line["formula"]))
        wrong += [f"{text}: {fault}" for fault in faults]
        if text == spec.metric.name:  # the example of its docstring, which doctests try
            continue
        kind, given, value = example_of(shown)
        call = tv.measure if kind == "measure" else tv.rating_error
        again = call(**given) if kind == "measure" else call(*list(given.values())[:3], users=given.get("users"))
        low, high = (math.inf if bound == "∞" else float(bound.replace("∞", "inf")) for bound in re.findall(
            r"(\S+) to (\S+);", line["range"]
        )[0])  # fmt: skip
        faults = [f"value {value}, not {again}"] * (not math.isclose(value, again, abs_tol=1e-6))
        faults += [f"{value} is not from {low} to {high}"] * (not low <= value <= high)
        if spec.metric.family not in ("beyond", "quality", "errors"):
            right = by_hand(Definition.read(spec.definition), given)
            faults += [f"value {value}, its formula gives {right}"] * (not math.isclose(value, right, abs_tol=1e-6))
            checked += 1
        wrong += [f"{text}: {fault}" for fault in faults]
    assert checked > 250
    assert not wrong, f"{len(wrong)} are wrong\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("name", ["anti(precision)", "snips(recall)[clip=3]", "ips(dcg)", "fbeta[beta=2]"])
def test_a_metric_in_full_needs_no_cutoff(name: str):
    assert explain(name).splitlines()[0].partition("@")[2].startswith("10") or name == "ips(dcg)"


# ---- options that change nothing -----------------------------------------------------------------------------------


def plain_form(text: str) -> str:
    """A metric without its options."""
    return text.partition("[")[0]


def test_every_option_changes_something():
    """An option that is accepted gives another value than the default somewhere, at some cutoff or without one."""
    differs: dict[tuple[str, ...], bool] = {}
    for seed in range(3, 9):
        world = world_of(seed, True) if seed > 3 else random_world(seed)  # one without the value 0
        lists = lists_of(world, seen=False)
        if seed == 4:  # lists with fewer items than the user likes
            lists = {user: blocks[:1] for user, blocks in lists.items()}
        how: dict[str, Any] = {
            "threshold": 2.0,
            "interval": "none",
            "propensity": propensity_table(world),
            "population": "all",
        }
        of_lists = [text for text in texts() if listed(text, None, "all", "given", condensed=False)]
        found = tv.evaluate_run(
            run_table(world, lists), table(world.test), train=table(world.train), items=item_table(world), ties="given",
            metrics=of_lists, **how,
        ).table()  # fmt: skip
        parts, rest = parts_of(world, "given"), [text for text in texts() if text not in of_lists]
        ranked = tv.evaluate(
            parts, {"s": tv.Scores(score_matrix(world))}, metrics=rest, design="AR-AI-AN", ties="expected", **how
        ).table()
        values = dict(zip(found["metric"], found["value"])) | dict(zip(ranked["metric"], ranked["value"]))
        for text in texts():
            if "[" in text:
                name, cut, options = re.findall(r"^([^@\[]+)(@\d+)?(\[.+\])$", text)[0]
                key = (name, "@k" if cut else "", options)
                differs[key] = differs.get(key, False) or abs(values[text] - values[plain_form(text)]) > 1e-9
    idle = ["".join(key) for key, other in differs.items() if not other]
    assert len(differs) > 100
    assert idle == ALIKE, "; ".join(idle)


# Written out, this is the default; under a preset it is not.
ALIKE = [
    "atop[average=mean]", "anti(atop)[average=mean]", "auc[average=mean]", "anti(auc)[average=mean]",
    "recall@k[average=mean]", "anti(recall)@k[average=mean]",
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["anti(ndcg)@5[gain=exp]", "anti(dcg)[gain=binary]", "anti(rbp)[gain=linear]", "ndcg[ideal=full]", "ap[denom=min]",
     "recall@5[count_from=train]", "eu@5[beta=0.5]", "anti(recall)@5[count_from=test]"],
)  # fmt: skip
def test_options_without_effect_are_refused(text: str):
    with pytest.raises(TruevalError, match=r"has no parameter|changes nothing") as refused:
        parse(text)
    assert refused.value.do.startswith("leave it out")
    parse(re.sub(r"\[.*\]", "", text))  # as advised


# ---- the order of a library ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("compat", [name for name, preset in PRESETS.items() if preset.ties not in (None, "given")])
def test_systems_have_no_order_of_a_library(compat: str):
    """It orders equal scores in lists that were given; systems would be ordered at random, whatever is printed."""
    parts, ties = parts_of(world_of(3, True), "given"), PRESETS[compat].ties
    with pytest.raises(TruevalError, match="orders equal scores in lists") as refused:
        tv.evaluate(parts, ["popularity"], metrics=["ndcg@2"], compat=compat, ties=ties, interval="none")
    for rule in refused.value.do.removeprefix("use one of ").split(", "):
        tv.evaluate(parts, ["popularity"], metrics=["ndcg@2"], compat=compat, ties=rule, interval="none")
