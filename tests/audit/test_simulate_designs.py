"""Designs and metrics in a world like the reader's, where the truth is known."""

from __future__ import annotations

import importlib
import json

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world

import trueval as tv
from trueval.audit.simulate_designs import BASELINES
from trueval.audit.simulated_designs import SimulatedDesigns, SimulatedSetting
from trueval.errors import DefinitionError
from trueval.splits.parts import Parts

SYSTEMS = ["popularity", "average", "puresvd[factors=4]", "random"]


@pytest.fixture(scope="module")
def parts() -> Parts:
    world = tv.simulate("world", users=150, items=80, ratings=3500, gamma=1.5, alignment=0.0, seed=4)
    made = tv.split(world.log, "holdout", ratio=0.3, seed=1)
    assert isinstance(made, Parts)
    return made


@pytest.fixture(scope="module")
def audit(parts: Parts) -> tv.Audit:
    return tv.audit(parts, SYSTEMS, threshold=4, metrics="ndcg@10", simulate=3)


@pytest.fixture(scope="module")
def found(audit: tv.Audit) -> SimulatedDesigns:
    record = audit.measured["simulated_designs"]
    assert isinstance(record, SimulatedDesigns)
    return record


def test_values_are_those_of_the_world(parts: Parts, found: SimulatedDesigns) -> None:
    """The same world, its three logs, and evaluate and truth called by hand."""
    log = parts.train.keep(pl.concat([parts.train.frame, parts.test.frame]))
    world = tv.simulate("like", log, threshold=4, seed=0)
    measured, true = [], []
    for number in range(3):
        own = world if number == 0 else world.redrawn(number)
        made = tv.split(own.log, "holdout", ratio=0.3, seed=number)
        result = tv.evaluate(
            made, SYSTEMS, metrics="ndcg@10", threshold=4, interval="none", seed=number, items=world.item_table
        )
        known = [one for one in world.users.values if one in set(own.log.frame["user"])]
        table = own.truths(SYSTEMS, "ndcg@10", train=made.train, users=known)
        measured.append([result[name, "ndcg@10"].value for name in SYSTEMS])
        true.append(table["value"].to_list())
    mine = found.own
    assert mine.name == "AR-TI-AN ndcg@10"
    assert mine.measured == pytest.approx(np.mean(measured))
    assert mine.true == pytest.approx(np.mean(true), rel=0.02)  # random systems draw anew
    assert mine.bias == pytest.approx(np.mean(measured) - np.mean(true), rel=0.02)
    assert mine.sd == pytest.approx(np.std(measured, axis=0, ddof=1).mean())
    assert len(mine.tau) == 3


def test_every_design_is_there(found: SimulatedDesigns) -> None:
    designs = {one.design for one in found.settings}
    assert designs >= {
        "AR-TI-AN",
        "1R-TI-AN",
        "AR-AI-AN",
        "AR-TI-AN-head10",
        "P1R10-TI-AN",
        "AR-TI-AN-condensed",
        "U1R",
    }
    assert {one.metric for one in found.settings} >= {"ndcg@10", "bpref", "recall@10"}
    assert all(np.isnan(one.bias) == one.design.startswith(("1R", "P", "U")) for one in found.settings)


def test_judged_items_alone_are_nearer_where_popularity_misleads(found: SimulatedDesigns) -> None:
    condensed = next(one for one in found.settings if one.name == "AR-TI-AN-condensed ndcg@10")
    assert condensed.mean_tau > found.own.mean_tau
    assert abs(condensed.bias) < abs(found.own.bias)


def test_text_json_and_page(audit: tv.Audit, found: SimulatedDesigns) -> None:
    text = str(audit)
    assert "IN A WORLD LIKE YOURS" in text
    assert "ratings per item" in text  # how well it fits
    record = json.loads(audit.to_json())["simulation"]
    assert record["settings"][0]["design"] == "AR-TI-AN"
    assert len(record["fit"]) == len(found.fit.table())
    page = audit.to_html()
    assert "In a world like yours" in page
    assert "How well that world fits" in page


def test_lists_are_replaced_by_baselines() -> None:
    world = clean_world(0)
    found = world.audit(simulate=1).measured["simulated_designs"]
    assert found.systems == BASELINES
    assert "good" in " ".join(found.notes)
    assert "simulated_designs" not in world.audit().measured


def test_large_logs_are_made_smaller(monkeypatch: pytest.MonkeyPatch, parts: Parts) -> None:
    module = importlib.import_module("trueval.audit.simulate_designs")
    monkeypatch.setattr(module, "_PAIRS", 4000)
    found = module.simulate_designs(parts, None, logs=1, seed=0, threshold=4)
    assert found.size[0] == 50
    assert "50 of the 150 users" in " ".join(found.notes)


def test_bad_numbers_of_logs(parts: Parts) -> None:
    with pytest.raises(DefinitionError, match="1 to 1000"):
        tv.audit(parts, simulate=0)
    with pytest.raises(DefinitionError, match="train and test together"):
        tv.audit(test=parts.test, simulate=True)


def with_taus(*several: tuple[float, ...]) -> SimulatedDesigns:
    settings = [SimulatedSetting(f"D{at}", "ndcg@10", 0.1, 0.2, -0.1, 0.0, own) for at, own in enumerate(several)]
    from trueval.simulation.fit_table import FitTable

    return SimulatedDesigns(tuple(settings), ("a", "b"), "ndcg@10", len(several[0]), (10, 10, 50), FitTable((), ()))


def test_the_nearest_of_many_must_be_shown_to_be() -> None:
    close = with_taus((0.2, 0.4, 0.6, 0.2, 0.4), (0.4, 0.4, 0.4, 0.4, 0.4))
    assert "No setting is shown to be nearer" in close.sentences()[1]
    far = with_taus((0.2, 0.4, 0.2, 0.2, 0.4), (0.8, 1.0, 0.8, 1.0, 1.0))
    assert far.sentences()[1].startswith("Nearer to the true order in this world, of 1 other settings: D1")
    own = with_taus((0.8, 0.8, 0.8), (0.2, 0.4, 0.2))
    assert own.sentences()[1] == "No setting is nearer to the true order than yours."


def test_nothing_is_advised_where_the_world_orders_systems_otherwise() -> None:
    from dataclasses import replace

    from trueval.simulation.system_check import SystemCheck

    far = with_taus((0.2, 0.4, 0.2, 0.2, 0.4), (0.8, 1.0, 0.8, 1.0, 1.0))
    values = np.array([[0.1, 0.2]]), np.array([[0.2, 0.1]])
    reversed_in = SystemCheck(("a", "b"), ("D0",), "ndcg@10", *values, (("D0", "b", "a"),), (0.1, 0.1))
    other = replace(far, fit=replace(far.fit, systems=reversed_in))
    assert other.sentences()[1].startswith("This world does not tell which setting is nearer to the truth")
    assert "your log has b above a, and the world has not" in other.sentences()[1]
    alike = replace(reversed_in, world=values[0], reversals=())
    assert replace(far, fit=replace(far.fit, systems=alike)).sentences()[1] == far.sentences()[1]


def test_the_systems_are_compared_in_log_and_world(found: SimulatedDesigns) -> None:
    check = found.fit.systems
    assert check is not None
    assert check.systems == tuple(SYSTEMS)
    assert check.designs == ("AR-TI-AN",)
    assert "τ of both orders" in str(found)
