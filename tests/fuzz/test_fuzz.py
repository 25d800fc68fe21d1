"""A part of the fuzzer in every test run: the good inputs are accepted, and no spoiled one is a defect."""

from __future__ import annotations

import random

import pytest
from fuzz_inputs import LEFT_OUT, SCENARIOS
from fuzz_mutations import VALUES

from fuzz import DEFECTS, VERDICTS, Worker, all_options, command_of, fill, run_cases, run_words, write_file

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
    names = [*scenario.tables, *scenario.texts, *scenario.results, *scenario.databases]
    places = {name: write_file(name, scenario, False, tmp_path, rng, ending=".csv") for name in names}
    more = [] if option is None else [option, scenario.more[option]]
    answer = worker.ask(tmp_path, [fill(word, places) for word in [*scenario.words, *more]])
    assert answer["code"] in VERDICTS.get(scenario.words[0], (0,)), answer["err"]


def test_every_command_has_a_scenario():
    """A new command is tried as soon as it exists."""
    tried = {command_of(scenario.words) for scenario in SCENARIOS}
    assert not tried & LEFT_OUT.keys()
    assert tried | LEFT_OUT.keys() == set(all_options())


@pytest.mark.parametrize("command", sorted(set(all_options()) - LEFT_OUT.keys()))
def test_no_value_of_any_option_is_a_defect(command, worker, tmp_path):
    """Each option of each command, as the application declares them, with some of the values nobody thought of."""
    scenario = next(scenario for scenario in SCENARIOS if command_of(scenario.words) == command)
    rng = random.Random(command)
    cases = [(option, value) for option, flag in all_options()[command]
             for value in ([] if flag else rng.sample(VALUES, 3)) or [None]]  # fmt: skip
    for number, (option, value) in enumerate(cases):
        folder = tmp_path / str(number)
        (folder / "out").mkdir(parents=True)
        names = [*scenario.tables, *scenario.texts, *scenario.results, *scenario.databases]
        places = {name: write_file(name, scenario, False, folder, rng, ending=".csv") for name in names}
        words = [fill(word, places) for word in scenario.words] + [option] + ([] if value is None else [value])
        outcome = run_words(number, words, worker, folder)
        assert outcome.kind not in DEFECTS, (words, outcome.detail)


@pytest.mark.parametrize("part", range(4))
def test_no_spoiled_input_is_a_defect(part):
    size = CASES // 4
    found = list(run_cases(SEED, range(part * size, (part + 1) * size), workers=1))
    assert [outcome for outcome in found if outcome.kind in DEFECTS] == []
    kinds = {outcome.kind for outcome in found}
    assert kinds == {"accepted", "refused"}
