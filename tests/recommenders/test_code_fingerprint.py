"""The code behind a class: what changes it is seen, wherever it stands, and what cannot be told is said."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_tune import make_log

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.evaluation.tuning import tune
from trueval.recommenders.code_fingerprint import Unknown, code_digest
from trueval.recommenders.source_files import forget

CELL = '''
import numpy as np
from functools import cached_property, partial

BEND, TABLE, ARRAY = 1.0, {"a": [1, 2]}, np.arange(5000)

def twice(x):
    return 2 * x + BEND

def thrice(x, by=3):
    return by * x

class Base:
    slope = 0.5
    def weigh(self, x):
        return self.slope * TABLE["a"][0] * x + ARRAY[2500]

class Model(Base):
    """Scores of the item codes."""

    def __init__(self, power=1.0):
        self.power = power

    @property
    def bent(self):
        return [twice(v) for v in (self.power, 4.0)][0]

    @staticmethod
    def mixed(x):
        return thrice(x)

    def fit(self, train):
        self.items = len(train.items)
        return self

    def score(self, users):
        row = self.weigh(np.arange(self.items)) * self.bent + self.mixed(0)
        return np.tile(row, (len(users), 1))
'''
# what is another class: by a method, a function it calls, one inside a comprehension, constants, a base, a default
CHANGES = [
    ("self.items = len(train.items)", "self.items = len(train.items) + 0"),
    ("2 * x", "4 * x"),
    ("by=3", "by=5"),
    ("BEND, TABLE, ARRAY = 1.0", "BEND, TABLE, ARRAY = 1.5"),
    ("[1, 2]", "[3, 2]"),
    ("np.arange(5000)", "np.append(np.arange(4999), 7)"),
    ("slope = 0.5", "slope = 0.6"),
    ("self.slope *", "2 * self.slope *"),
    ("power=1.0", "power=2.0"),
    ("@staticmethod\n    def mixed(x)", "def mixed(self, x)"),
]


def cell(text: str, name: str = "__main__") -> types.ModuleType:
    """What a notebook makes of a cell: names in a module that has no file."""
    module = types.ModuleType(name)
    exec(compile(text, "<ipython-input-1>", "exec"), vars(module))
    return module


@pytest.fixture
def notebook(monkeypatch):
    """Run a cell in a new __main__."""

    def run(text: str) -> types.ModuleType:
        module = cell(text)
        monkeypatch.setitem(sys.modules, "__main__", module)
        return module

    return run


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_class_of_a_notebook_is_known_by_its_code(notebook, old, new):
    assert CELL.count(old) == 1
    first = code_digest(notebook(CELL).Model)
    assert code_digest(notebook("\n\n# moved down\n" + CELL).Model) == first
    assert code_digest(notebook(CELL + "\ndef unused(): pass\nOTHER = 3").Model) == first
    assert code_digest(notebook(CELL.replace(old, new)).Model) != first


def test_a_class_of_a_notebook_that_loads_a_file(notebook, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "nearby.py").write_text("SLOPE = 1")
    inside = CELL.replace("self.items = len(train.items)", "from nearby import SLOPE")
    above = "import nearby\n" + CELL.replace("2 * x", "nearby.SLOPE * x")
    before = [code_digest(notebook(text).Model) for text in (inside, above)]
    (tmp_path / "nearby.py").write_text("SLOPE = 3")
    forget("nearby")
    after = [code_digest(notebook(text).Model) for text in (inside, above)]
    assert len({*before, *after}) == 4


def test_what_a_function_closes_over(tmp_path):
    def make(slope):
        class Inside:
            def score(self, users):
                return slope * len(users)

        return Inside

    assert code_digest(make(1)) == code_digest(make(1))
    assert code_digest(make(1)) != code_digest(make(2))
    assert code_digest(functools.partial(make, 1)) != code_digest(functools.partial(make, 2))
    with pytest.raises(Unknown, match=r"an object of type \w*Path"):
        code_digest(make(tmp_path))


def test_values_that_look_alike():
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1
    assert repr(one) == repr(other)
    assert code_digest(one) != code_digest(other)
    assert code_digest([1, [2, 3]]) != code_digest([[1, 2], 3])
    assert code_digest(1) != code_digest(1.0) != code_digest("1.0")
    many = [[f"text {n}"] for n in range(500)]  # lists that come and go at the same place of the memory
    assert len({code_digest([[one], [two]]) for one in many[:20] for two in many[:20]}) == 400


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "tunedparts.py").write_text("SIGN = -1\n")
    (tmp_path / "tuned.py").write_text(
        "from tunedparts import SIGN\n" + CELL.replace("self.weigh(", "SIGN * self.weigh(")
    )
    yield tmp_path
    for name in ("tuned", "tunedparts"):
        sys.modules.pop(name, None)


def fresh(name: str) -> types.ModuleType:
    forget(name)
    return importlib.import_module(name)


def value(made: type, folder: Path | None, parts) -> float:
    return tune(made, {"power": [1.0]}, data=parts, folder=folder).table["ndcg@10"][0]


@pytest.mark.parametrize("change", [("tuned.py", "SIGN * ", "-SIGN * "), ("tunedparts.py", "= -1", "= +1")])
def test_trials_of_changed_code_do_not_come_back(place, change):
    file, old, new = change
    parts = tv.split(make_log(), "holdout")
    first = value(fresh("tuned").Model, place / "trials", parts)
    assert value(fresh("tuned").Model, place / "trials", parts) == first
    (place / file).write_text((place / file).read_text().replace(old, new))
    alone = value(fresh("tuned").Model, None, parts)
    assert value(fresh("tuned").Model, place / "trials", parts) == alone != first
    assert len(list((place / "trials").iterdir())) == 2


@pytest.mark.parametrize("looked_at", [False, True])
@pytest.mark.parametrize("change", [("SIGN = -1", "SIGN = +1"), ("2 * x", "4 * x"), ("slope = 0.5", "slope = 0.6")])
def test_a_file_that_was_edited_after_it_was_loaded(place, change, looked_at, capsys):
    """The class in memory is the old one, the file the new one: neither is what the other would be found by."""
    parts = tv.split(make_log(), "holdout")
    made = fresh("tuned").Model
    if looked_at:
        value(made, place / "trials", parts)
    file = place / ("tunedparts.py" if "SIGN" in change[0] else "tuned.py")
    assert change[0] in file.read_text()
    file.write_text(file.read_text().replace(*change))
    value(made, place / "trials", parts)
    assert f"neither used again nor kept, because its code cannot be identified: {file.name}" in capsys.readouterr().err
    kept = len(list(place.glob("trials/*")))
    assert kept == looked_at
    importlib.reload(sys.modules["tunedparts"])
    value(importlib.reload(sys.modules["tuned"]).Model, place / "trials", parts)
    assert len(list(place.glob("trials/*"))) == kept + 1
    assert capsys.readouterr().err == ""


def test_what_a_module_fills_as_it_works_is_no_change(place):
    text = "COUNT, SEEN = 0, []\nTIMES = 0\ndef count():\n    global TIMES\n    TIMES += 1\n"
    (place / "tunedparts.py").write_text(text + "SIGN = -1\n")
    module = fresh("tuned")
    first = code_digest(module.Model)
    sys.modules["tunedparts"].SEEN.append(1)
    sys.modules["tunedparts"].count()
    assert code_digest(module.Model) == first


def test_code_that_cannot_be_told_is_tried_again_and_said(notebook, tmp_path, capsys):
    module = notebook("import threading\nLOCK = threading.Lock()\n" + CELL.replace("2 * x", "2 * x if LOCK else 0"))
    parts = tv.split(make_log(), "holdout")
    value(module.Model, tmp_path / "trials", parts)
    assert "trials of Model are neither used again nor kept" in capsys.readouterr().err
    assert not (tmp_path / "trials").exists()


def test_trials_of_a_script(tmp_path):
    """The class is in __main__, and its code that of the script."""
    script = tmp_path / "script.py"
    text = CELL + (
        "\nimport polars as pl, trueval as tv\n"
        "rows = [(u, (u * u + j) % 17) for u in range(40) for j in range(8)]\n"
        "log = pl.DataFrame(rows, ['user', 'item'], orient='row')\n"
        f"found = tv.tune(Model, {{'power': [1.0]}}, data=log, folder={str(tmp_path / 'trials')!r})\n"
        "print(found.table['ndcg@10'][0])\n"
    )
    values = []
    for written in (text, text, text.replace("self.weigh(", "-self.weigh(")):
        script.write_text(written)
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        values.append((float(done.stdout), len(list((tmp_path / "trials").iterdir()))))
    assert values[0] == values[1]
    assert values[2][0] != values[0][0]
    assert values[2][1] == 2


def test_changed_tables_of_items_are_other_trials(tmp_path):
    log = make_log()
    found = []
    for groups in (2, 3):
        items = log.frame.select("item").unique().with_columns(aspects=pl.col("item").mod(groups).cast(pl.String))
        parts = tv.split(Interactions.of(log.frame, items=items), "holdout")
        asked = {"data": parts, "metric": "alpha_ndcg@5"}
        found.append(tune("itemknn", {"k": [5]}, folder=tmp_path, **asked).table["alpha_ndcg@5"][0])
        assert found[-1] == tune("itemknn", {"k": [5]}, **asked).table["alpha_ndcg@5"][0]
    assert found[0] != found[1]
