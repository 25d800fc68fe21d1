"""Which files beside an experiment are run: those of modules that it names, and what these import. No others."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from experiment_worlds import write_experiment

import trueval as tv
from trueval.errors import DefinitionError

PLANTED = "import pathlib; (pathlib.Path(__file__).parent{up} / 'ran').touch()\n"
EXPERIMENT = """
[data]
path = "log.parquet"
threshold = 4
[evaluation]
metrics = ["ndcg@10"]
baseline = "popularity"
[systems]
popularity = {}
average = {}
MORE
"""
MODEL = """
import html
import numpy as np

class Mine:
    def fit(self, train):
        import fit_helper
        self.weight = fit_helper.SIGN * train.popularity.astype(float)
        return self

    def score(self, users):
        from score_helper import spread
        return spread(self.weight, len(users))
"""
HELPERS = {
    "fit_helper.py": "SIGN = -1.0\n",
    "score_helper.py": "import numpy as np\ndef spread(weight, n):\n    return np.tile(weight, (n, 1))\n",
}
# of Python, of libraries, and such as libraries try to import without having them
NAMES = ["html", "csv", "numpy", "polars", "rich", "numba", "scipy", "typing_extensions", "sitecustomize", "icc_rt"]


@pytest.fixture
def planted(place: Path) -> Path:
    """An experiment's folder with packages and modules in it that leave a mark when they are run."""
    for name in NAMES:
        (place / name).mkdir()
        (place / name / "__init__.py").write_text(PLANTED.format(up=".parent"))
    for name in ("colorama", "torch", "xxhash", "json", "secrets"):
        (place / f"{name}.py").write_text(PLANTED.format(up=""))
    return place


@pytest.fixture(autouse=True)
def path_as_it_was():
    before = list(sys.path)
    yield
    assert sys.path == before


def test_files_beside_an_experiment_are_not_run(planted: Path) -> None:
    path = write_experiment(planted, EXPERIMENT.replace("MORE", ""))
    code = "import sys; sys.argv[0] = 'trueval'; from trueval.cli import main; main()"
    arguments = ["-P", "-c", code, "run", str(path), "-o", str(planted / "out"), "--format", "json"]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=planted)
    assert done.returncode == 0, done.stderr
    assert (planted / "out" / "report.html").is_file()
    assert not (planted / "ran").exists()


def test_a_module_and_what_it_imports_are_run_and_no_others(planted: Path) -> None:
    (planted / "mymodel.py").write_text(MODEL)
    for name, text in HELPERS.items():
        (planted / name).write_text(text)
    path = write_experiment(planted, EXPERIMENT.replace("MORE", 'mine = { import = "mymodel:Mine" }'))
    found = tv.run(path, planted / "out")["AR-TI-AN"]
    assert found["mine", "ndcg@10"].value < found["popularity", "ndcg@10"].value
    assert not (planted / "ran").exists()


def test_an_installed_module_does_not_look_beside_the_experiment(planted: Path) -> None:
    """Not even for what it imports if it is there, as libraries do."""
    library = planted / "elsewhere"
    library.mkdir()
    text = MODEL.replace("import html", "try:\n    import xxhash_missing\nexcept ImportError:\n    pass")
    (library / "installedmodel.py").write_text(text)
    for name, helper in HELPERS.items():
        (library / name).write_text(helper)
    (planted / "xxhash_missing.py").write_text(PLANTED.format(up=""))
    path = write_experiment(planted, EXPERIMENT.replace("MORE", 'mine = { import = "installedmodel:Mine" }'))
    sys.path.append(str(library))
    try:
        tv.run(path)
    finally:
        sys.path.remove(str(library))
    assert not (planted / "ran").exists()


@pytest.mark.parametrize("name", ["json", "numpy"])
def test_a_module_that_is_there_twice_is_refused(planted: Path, name: str) -> None:
    path = write_experiment(planted, EXPERIMENT.replace("MORE", f'mine = {{ import = "{name}:Mine" }}'))
    with pytest.raises(DefinitionError, match=f"two modules are called {name}"):
        tv.run(path)
    assert not (planted / "ran").exists()


def test_a_folder_of_data_is_no_second_module(place: Path) -> None:
    (place / "fractions").mkdir()
    path = write_experiment(place, EXPERIMENT.replace("MORE", 'mine = { import = "fractions:Fraction" }'))
    with pytest.raises(DefinitionError, match="is not a system"):
        tv.run(path)


def test_the_command_does_not_import_from_the_current_folder(planted: Path) -> None:
    command = Path(sysconfig.get_path("scripts")) / "trueval"
    if not command.is_file():
        pytest.skip("trueval is not installed as a command")
    done = subprocess.run([str(command), "systems"], capture_output=True, text=True, cwd=planted)
    assert done.returncode == 0, done.stderr
    assert not (planted / "ran").exists()
