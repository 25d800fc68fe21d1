"""Experiments whose systems have code in several files: whichever of them changes, nothing old comes back."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from experiment_worlds import make_folder, write_experiment

import trueval as tv
from trueval.recommenders.source_files import own_files

EXPERIMENT = """
[data]
path = "log.parquet"
threshold = 4
[evaluation]
metrics = ["ndcg@10"]
[systems]
popularity = {}
mine = { import = "MODULE:Mine" }
"""
# Popularity, from the most popular item or from the least: SIGN comes from another file in each of the layouts.
MINE = """
import numpy as np
{top}

class Mine:
    def fit(self, train):
        {inside}
        with open({fits!r}, "a") as file:
            file.write("fit ")
        self.weight = SIGN * train.popularity.astype(float)
        return self

    def score(self, users):
        return np.tile(self.weight, (len(users), 1))
"""
VALUE = "SIGN = {sign}\n"

# name: module of the system; its file, what it imports at its top and inside fit; other files; the file with the value
LAYOUTS = {
    "beside": ("mine", "mine.py", "from helper import SIGN", "pass", {}, "helper.py"),
    "star": ("mine", "mine.py", "from helper import *", "pass", {}, "helper.py"),
    "attribute": ("mine", "mine.py", "import helper", "SIGN = helper.SIGN", {}, "helper.py"),
    "inside": ("mine", "mine.py", "", "from helper import SIGN", {}, "helper.py"),
    "further": ("mine", "mine.py", "from near import SIGN", "pass", {"near.py": "from far import SIGN"}, "far.py"),
    "package": ("pkg.deep.mine", "pkg/deep/mine.py", "from ..base import SIGN", "pass",
                {"pkg/__init__.py": "", "pkg/deep/__init__.py": ""}, "pkg/base.py"),
    "sibling": ("pkg.mine", "pkg/mine.py", "from . import base", "SIGN = base.SIGN",
                {"pkg/__init__.py": ""}, "pkg/base.py"),
    "exported": ("pkg", "pkg/inner.py", "from .base import SIGN", "pass",
                 {"pkg/__init__.py": "from .inner import Mine"}, "pkg/base.py"),
    "in init": ("pkg.mine", "pkg/mine.py", "import pkg", "SIGN = pkg.SIGN", {}, "pkg/__init__.py"),
    "no init": ("mine", "mine.py", "from space.inner.base import SIGN", "pass", {}, "space/inner/base.py"),
    "submodule": ("mine", "mine.py", "from pkg import base", "SIGN = base.SIGN",
                  {"pkg/__init__.py": ""}, "pkg/base.py"),
    "by name": ("mine", "mine.py", "import importlib", "SIGN = importlib.import_module('helper').SIGN",
                {}, "helper.py"),
    "worked out": ("mine", "mine.py", "import importlib", "SIGN = importlib.import_module('hel' + 'per').SIGN",
                   {}, "helper.py"),
    "own path": ("mine", "mine.py", "import sys; sys.path.insert(0, __file__[:-7] + 'lib'); from helper import SIGN",
                 "pass", {}, "lib/helper.py"),
}  # fmt: skip


def make_layout(folder: Path, layout: str) -> tuple[Path, Path]:
    """A folder with a system in several files; the experiment, and the file with the value."""
    module, own, top, inside, others, value = LAYOUTS[layout]
    make_folder(folder)
    mine = MINE.format(top=top, inside=inside, fits=str(folder / "fits.txt"))
    for name, text in {own: mine, **others, value: VALUE.format(sign=-1)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return write_experiment(folder, EXPERIMENT.replace("MODULE", module)), folder / value


def fits(folder: Path) -> int:
    return (folder / "fits.txt").read_text().count("fit")


@pytest.fixture(autouse=True)
def path_as_it_was():
    before = list(sys.path)
    yield
    sys.path[:] = before


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_change_of_any_file_behind_a_system_is_seen(tmp_path, layout):
    path, value = make_layout(tmp_path, layout)
    found = tv.run(path, tmp_path / "out")["AR-TI-AN"]
    assert found["mine", "ndcg@10"].value != found["popularity", "ndcg@10"].value
    assert fits(tmp_path) == 1
    (tmp_path / "plots.py").write_text("nothing that the system loads")
    if layout != "worked out":  # where any file of the folder may be meant
        tv.run(path, tmp_path / "out", resume=True)
        assert fits(tmp_path) == 1
    value.write_text(VALUE.format(sign="+1"))  # as long as before, and at once: Python's own check sees no change
    found = tv.run(path, tmp_path / "out", resume=True)["AR-TI-AN"]
    assert found["mine", "ndcg@10"].value == found["popularity", "ndcg@10"].value
    value.write_text(VALUE.format(sign=-1))
    before = fits(tmp_path)
    tv.run(path, tmp_path / "out", resume=True)
    if layout != "worked out":
        assert fits(tmp_path) == before + 1  # what it did with this code went when the run with the other had finished


@pytest.mark.parametrize("layout", ["beside", "inside", "worked out"])
def test_two_experiments_with_files_of_the_same_names(tmp_path, layout):
    found = []
    for name, sign in (("one", -1), ("two", "+1")):
        (tmp_path / name).mkdir()
        path, value = make_layout(tmp_path / name, layout)
        value.write_text(VALUE.format(sign=sign))
        result = tv.run(path, tmp_path / name / "out")["AR-TI-AN"]
        found.append(result["mine", "ndcg@10"].value == result["popularity", "ndcg@10"].value)
    assert found == [False, True]


def test_the_command_sees_it_too(tmp_path):
    path, value = make_layout(tmp_path, "further")
    for sign, more in ((-1, []), ("+1", ["--resume"])):
        value.write_text(VALUE.format(sign=sign))
        arguments = ["-m", "trueval", "run", str(path), "-o", str(tmp_path / "out"), "--format", "csv", *more]
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    shown = {row["system"]: row["value"] for row in csv.DictReader(io.StringIO(done.stdout))}
    assert shown["mine"] == shown["popularity"] != ""


def test_files_that_change_during_the_work(tmp_path, capsys):
    """What was imported before the change is kept by the code it had; what may be either is not kept."""
    path, value = make_layout(tmp_path, "inside")
    mine = tmp_path / "mine.py"
    edit = f"import pathlib; pathlib.Path({str(value)!r}).write_text({VALUE.format(sign='+1')!r})"
    mine.write_text(mine.read_text().replace("        from helper", f"        {edit}\n        from helper"))
    found = tv.run(path, tmp_path / "out")["AR-TI-AN"]
    assert found["mine", "ndcg@10"].value == found["popularity", "ndcg@10"].value
    assert "mine: its files changed during the run, so its facts are not stored" in capsys.readouterr().err
    value.write_text(VALUE.format(sign=-1))
    mine.write_text(mine.read_text().replace(edit, "pass"))
    again = tv.run(path, tmp_path / "out", resume=True)["AR-TI-AN"]
    assert again["mine", "ndcg@10"].value != again["popularity", "ndcg@10"].value


def test_libraries_are_not_followed(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine.py").write_text("import numpy, json, trueval, polars.exceptions\nimport other")
    (tmp_path / "other.py").write_text("import mine")  # round and round
    (tmp_path / "broken.py").write_text("def (")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert own_files("mine", loaded=False) == {"mine": tmp_path / "mine.py", "other": tmp_path / "other.py"}
    assert own_files("broken", loaded=False) == {"broken": tmp_path / "broken.py"}
    assert own_files("numpy", loaded=False) == own_files("nowhere.at.all", loaded=False) == {}
