"""Orders over designs and metrics, discriminative power, and orders by fewer judgements."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from audit_worlds import clean_world

import trueval as tv
from trueval.audit.given_runs import GivenRuns
from trueval.audit.make_case import make_case
from trueval.audit.robustness import Robustness, measure_robustness, thinned
from trueval.evaluation.options import EvaluationOptions
from trueval.splits.parts import Parts


@pytest.fixture(scope="module")
def parts() -> Parts:
    log = pl.concat([clean_world(2).train, clean_world(2).test])
    made = tv.split(log, "holdout", ratio=0.3, seed=1)
    assert isinstance(made, Parts)
    return made


SYSTEMS = ["popularity", "average", "random"]


@pytest.fixture(scope="module")
def found(parts: Parts) -> Robustness:
    audit = tv.audit(parts, SYSTEMS, threshold=4, metrics="ndcg@5")
    assert audit.robustness is not None
    return audit.robustness


@pytest.mark.parametrize(
    "design", ["AR-TI-AN", "1R-TI-AN", "AR-AI-AN", "AR-TI-AN-head10", "P1R10-TI-AN", "AR-TI-AN-condensed"]
)
def test_settings_have_the_values_of_evaluate(parts: Parts, found: Robustness, design: str) -> None:
    result = tv.evaluate(parts, SYSTEMS, design=design, threshold=4, metrics="ndcg@5,recall@5", interval="none")
    for metric in ("ndcg@5", "recall@5"):
        row = found.scores[found.settings.index(f"{design} {metric}")]
        assert row.tolist() == pytest.approx([result[name, metric].value for name in SYSTEMS])


def test_the_table_counts_settings(found: Robustness) -> None:
    above = found.scores[:, 0] > found.scores[:, 1]
    first = found.table().row(0, named=True)
    assert (first["system"], first["other"], first["above"]) == ("popularity", "average", int(above.sum()))
    assert first["settings"] == len(found.settings)
    assert found.above("average", "popularity")[0] == int((found.scores[:, 1] > found.scores[:, 0]).sum())
    assert found.significant("popularity", "average") == tuple(reversed(found.significant("average", "popularity")))


def test_tau_is_one_with_itself_and_symmetric(found: Robustness) -> None:
    tau = found.tau
    tied = np.ptp(found.scores, axis=1) == 0  # all systems alike: no order
    assert np.array_equal(np.isnan(np.diag(tau)), tied)
    assert np.allclose(np.diag(tau)[~tied], 1)
    assert np.allclose(tau, tau.T, equal_nan=True)


def test_power_is_the_share_of_significant_pairs(parts: Parts, found: Robustness) -> None:
    result = tv.evaluate(parts, SYSTEMS, threshold=4, metrics="ndcg@5", interval="none")
    p = [row.p for name in SYSTEMS[:2] for row in result.compare(name, correct="none").rows]
    pairs = [p[0], p[1], p[3]]  # with average and random; then average with random
    setting = found.settings[0]
    assert found.power_curve(setting).tolist() == pytest.approx(sorted(pairs))
    assert found.power[setting] == pytest.approx(np.mean(np.array(pairs) < 0.05))


def test_designs_without_lists_are_not_counted_twice(found: Robustness) -> None:
    assert "1R-TI-AN rr@5" in found.settings
    assert "1R-TI-AN ap@5" not in found.settings  # which is rr


def test_fewer_judgements_are_the_same_for_all_systems() -> None:
    world = clean_world(5)
    options = EvaluationOptions(metrics="ndcg@5", threshold=4, interval="none")
    subject = GivenRuns(world.recs, tv.read(world.test), options, train=tv.read(world.train))
    kept = [thinned(0.5, 3)(one) for one in subject.ranked.values()]
    pairs = [set(zip(f.unit_user[f.unit].tolist(), f.items.decode(f.item).to_list())) for f in kept]
    assert all(one == pairs[0] for one in pairs)
    assert 0.4 < len(pairs[0]) / len(world.test) < 0.6
    assert len(thinned(1.0, 3)(next(iter(subject.ranked.values()))).item) == len(world.test)
    assert measure_robustness(subject, seed=0).self_correlation["ndcg@5"].keys() == {0.75, 0.5, 0.25, 0.1}


def test_an_audit_is_the_same_with_any_number_of_threads(parts: Parts) -> None:
    one, two = (tv.audit(parts, SYSTEMS, threshold=4, metrics="ndcg@5", threads=n).to_dict() for n in (1, 2))
    assert one == two


def test_a_case_knows_what_is_there(parts: Parts) -> None:
    options = dict.fromkeys(
        (
            "train",
            "test",
            "validation",
            "recs",
            "relevant_change",
            "unbiased",
            "items",
            "users",
            "only_users",
            "by",
            "columns",
        )
    )
    case = make_case(
        parts, SYSTEMS, metrics="ndcg@5", design="AR-TI-AN", threshold=4, population="relevant", missing="zero",
        invalid="refuse", ties="random", min_group=30, seed=0, **options,
    )  # fmt: skip
    assert case.there == {"parts", "systems", "pairs", "facts", "chance", "popularity", "ratings"}


def test_fewer_judgements_of_one_relevant_item_at_a_time() -> None:
    """In 1R a target set without its relevant item is gone, whatever the population."""
    log = tv.simulate("world", users=150, items=120, ratings=4000, seed=1).log
    parts = tv.split(log, "holdout", seed=1)
    result = tv.evaluate(
        parts, ["popularity", "random", "average"], design="1R-TI-NN20", metrics="precision@10", threshold=5,
        population="all", interval="none",
    )  # fmt: skip
    assert "robust" in str(result.audit()).lower()
