"""A part of the fuzzer in every test run: the good inputs are accepted, and no spoiled one is a defect."""

from __future__ import annotations

import random

import pytest
from fuzz_inputs import SCENARIOS

from fuzz import DEFECTS, VERDICTS, Worker, fill, run_cases, write_file

SEED, CASES = 20, 336
GOOD = [(s, option) for s in SCENARIOS for option in (None, *s.more)]


@pytest.fixture(scope="module")
def worker():
    made = Worker()
    yield made
    made.stop()


@pytest.mark.parametrize(("scenario", "option"), GOOD, ids=lambda value: getattr(value, "words", [value])[0])
def test_good_inputs_are_accepted(scenario, option, worker, tmp_path):
    """Otherwise spoiled ones would be refused for another reason than the one that is tried."""
    (tmp_path / "out").mkdir()
    rng = random.Random(0)
    names = [*scenario.tables, *scenario.texts, *scenario.results]
    places = {name: write_file(name, scenario, False, tmp_path, rng, ending=".csv") for name in names}
    more = [] if option is None else [option, scenario.more[option]]
    answer = worker.ask(tmp_path, [fill(word, places) for word in [*scenario.words, *more]])
    assert answer["code"] in VERDICTS.get(scenario.words[0], (0,)), answer["err"]


@pytest.mark.parametrize("part", range(4))
def test_no_spoiled_input_is_a_defect(part):
    size = CASES // 4
    found = list(run_cases(SEED, range(part * size, (part + 1) * size), workers=1))
    assert [outcome for outcome in found if outcome.kind in DEFECTS] == []
    kinds = {outcome.kind for outcome in found}
    assert kinds == {"accepted", "refused"}
