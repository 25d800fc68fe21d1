"""Experiment files: what is read, and what is refused before any data are read, by key and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from experiment_worlds import EXPERIMENT, make_folder, sections, write_experiment

import trueval as tv
from trueval.errors import TruevalError
from trueval.experiments.experiment import read_experiment
from trueval.experiments.experiment_file import find_lines
from trueval.experiments.sources import Source


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True)
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads data in these tests has not checked the file first."""
    monkeypatch.setattr(Source, "read_log", lambda self: pytest.fail("data were read"))


def refusal(place: Path, old: str, new: str) -> TruevalError:
    """What is said of the experiment with one part replaced."""
    assert old in EXPERIMENT
    path = write_experiment(place, EXPERIMENT.replace(old, new), "changed.toml")
    with pytest.raises(TruevalError) as caught:
        tv.run(path, place / "never")
    assert not (place / "never").exists()
    return caught.value


# what is replaced, by what, where it is, and words of the message
REFUSED = {
    "unknown section": ("[data]", "[dta]", "line 1: [dta]", "no section [dta]", "did you mean data?"),
    "key in no section": ("[data]", "threads = 2\n[data]", "line 1: threads", "outside of all sections", "move it"),
    "key before its section": ("[data]", "ties = 2\n[data]", "line 1: ties", "outside", "it belongs to [evaluation]"),
    "misspelt key": ("threshold = 4", "treshold = 4", "line 3: [data] treshold", "no key", "did you mean threshold?"),
    "key of another section": ("ratio = 0.25", "metrics = []", "[split] metrics", "no key", "belongs to [evaluation]"),
    "path missing": ('path = "log.parquet"', "", "line 1: [data]", "[data] path is missing", 'path = "ml-1m"'),
    "no systems": (EXPERIMENT[EXPERIMENT.index("[systems]") :], "", "[systems]", "no systems", "popularity = {}"),
    "path not a text": ('"log.parquet"', "3", "line 2: [data] path", "path must be a string", "ratings.csv"),
    "no such file": ('"log.parquet"', '"lig.parquet"', "line 2: [data] path", "no such file", "mean log.parquet"),
    "threshold not a number": ("threshold = 4", 'threshold = "4"', "[data] threshold", "must be a number", "= 4"),
    "unknown column role": (
        "threshold = 4", 'columns = { usr = "u" }', "[data] columns", "unknown column role", "user"),
    "columns not a table": ("threshold = 4", 'columns = "u"', "[data] columns", "must be a table", "user ="),
    "items not there": ("threshold = 4", 'items = "no.csv"', "line 3: [data] items", "no such file", "check"),
    "unknown split": ('"holdout"', '"houldout"', "line 6: [split] how", "no split", "did you mean holdout"),
    "option of no split": ("ratio = 0.25", "ratoi = 0.25", "line 7: [split] ratoi", "no key", "did you mean ratio?"),
    "option of another split": ("ratio = 0.25", "windows = 3", "line 7: [split] windows", "no key", "available: "),
    "ratio too large": ("ratio = 0.25", "ratio = 1.5", "line 7: [split] ratio", "share between 0 and 1", "ratio=0.2"),
    "ratio not a number": ("ratio = 0.25", 'ratio = "a"', "[split] ratio", "share between 0 and 1", "ratio=0.2"),
    "wrong choice": ("ratio = 0.25", 'by = "usr"', "line 7: [split] by", "must be one of", "did you mean user?"),
    "shares that leave nothing": (
        "ratio = 0.25", "ratio = 0.5\nvalidation = 0.5", "[split] ratio", "leave nothing", ""),
    "too few folds": ('"holdout"\nratio = 0.25', '"kfold"\nn = 1', "line 7: [split] n", "whole number, 2 or more", ""),
    "moment and ratio": ('how = "holdout"', 'how = "temporal"\nat = 3', "[split] at", "not both", "leave one"),
    "given without a test": ('"holdout"\nratio = 0.25', '"given"', "[split]", "needs a second table", "test"),
    "given test not there": (
        '"holdout"\nratio = 0.25', '"given"\ntest = "t.csv"', "line 7: [split] test", "no such file", ""),
    "min_user not whole": ("ratio = 0.25", "min_user = 2.5", "[split] min_user", "must be a whole number", ""),
    "seeds not a list": ("seeds = [3, 5]", "seeds = 3", "line 8: [split] seeds", "list of whole numbers", "[1, 2, 3]"),
    "negative seed": ("seeds = [3, 5]", "seed = -1", "line 8: [split] seed", "0 or more", ""),
    "seed twice": ("seeds = [3, 5]", "seeds = [3, 3]", "line 8: [split] seeds", "given twice", "keep each once"),
    "seed and seeds": ("seeds = [3, 5]", "seed = 1\nseeds = [3, 5]", "[split] seeds", "both given", "keep one"),
    "unknown design": ('"AR-TI-AN"', '"AR-TY-AN"', "line 11: [evaluation] designs", "unknown word", "AR-TI-AN"),
    "design twice": ('"1R-TI-NN20"', '"AR-TI-AN"', "[evaluation] designs", "given twice", "keep one"),
    "designs empty": ('designs = ["AR-TI-AN", "1R-TI-NN20"]', "designs = []", "[evaluation] designs", "list of", "for"),
    "uniform design": ('"1R-TI-NN20"', '"U1R"', "[evaluation] designs", "needs a uniform_test split", "uniform_test"),
    "list design": (
        '"1R-TI-NN20"', '"AR-LIST-AN"', "[evaluation] designs", "list of candidate items", "items in [data]"),
    "unknown metric": (
        '"ndcg@10"', '"ndgc@10"', "line 12: [evaluation] metrics", "unknown metric", "did you mean ndcg"),
    "metric without cutoff": (
        '"recall@20"', '"recall"', "line 12: [evaluation] metrics", "needs a cutoff", "recall@10"),
    "metric twice": ('"recall@20"', '"ndcg@10"', "line 12: [evaluation] metrics", "twice", ""),
    "parameter of a metric": ('"recall@20"', '"recall@20[cup=true]"', "[evaluation] metrics", "no parameter", "cap"),
    "metrics of the wrong kind": ('["ndcg@10", "recall@20", "coverage@10"]', "10", "[evaluation] metrics", "list", ""),
    "no metric has a meaning": (
        '"ndcg@10", "recall@20", "coverage@10"', '"coverage@10"', "[evaluation] designs", "no metric is", ""),
    "unknown baseline": (
        '= "popularity"', '= "popularty"', "line 13: [evaluation] baseline", "not among", "mean popul"),
    "unknown population": ('baseline = "popularity"', 'population = "al"', "[evaluation] population", "unknown", "all"),
    "unknown ties": ('baseline = "popularity"', 'ties = "rando"', "line 13: [evaluation] ties", "ties", "mean random?"),
    "unknown interval": ('baseline = "popularity"', 'interval = "tt"', "[evaluation] interval", "unknown interval", ""),
    "level too large": ('baseline = "popularity"', "level = 1.5", "line 13: [evaluation] level", "between 0 and 1", ""),
    "unknown preset": ('baseline = "popularity"', 'compat = "ranks"', "[evaluation] compat", "preset", "mean ranx"),
    "unknown test": ('baseline = "popularity"', 'test = "wilcox"', "[evaluation] test", "unknown test", "wilcoxon"),
    "test of one seed": (
        'baseline = "popularity"', 'test = "wilcoxon"', "[evaluation] test", "users of one seed", '"t"'),
    "unknown correction": ('baseline = "popularity"', 'correct = "hlm"', "[evaluation] correct", "hlm", "holm"),
    "groups over seeds": (
        'baseline = "popularity"', 'by = "activity"', "[evaluation] by", "cannot be combined", "remove by"),
    "unknown system": ("popularity = {}", "popularty = {}", "line 16: [systems] popularty", "no system", "popularity?"),
    "unknown parameter": ("factors = 4", "fctors = 4", "line 17: [systems] plsa", "no parameter 'fctors'", "factors?"),
    "wrong parameter": ("factors = 4", "factors = 0", "line 17: [systems] plsa", "must be at least 1", "factors"),
    "parameter of the wrong kind": ("factors = 4", 'factors = "4"', "[systems] plsa", "must be a whole number", ""),
    "system is no table": ("plsa = { factors = 4, iterations = 5 }", "plsa = 4", "[systems] plsa", "table of", "{}"),
    "system of another name": ("factors = 4", 'system = "plsaa"', "[systems] plsa", "unknown system", "plsa"),
    "two things at once": ("factors = 4", 'run = "log.parquet", system = "plsa"', "[systems] plsa", "only one of", ""),
    "run not there": ("{ factors = 4, iterations = 5 }", '{ run = "r.csv" }', "[systems] plsa", "no such file", ""),
    "run of one seed not there": (
        "{ factors = 4, iterations = 5 }", '{ run = "r-{seed}.csv" }', "line 17: [systems] plsa", "no such file", ""),
    "run with parameters": (
        "{ factors = 4, iterations = 5 }", '{ run = "log.parquet", k = 5 }', "[systems] plsa", "no parameters", ""),
    "module not there": (
        "bentmodels:Bent", "bentmodel:Bent", "line 18: [systems] bent", "cannot be imported", "beside"),
    "class not there": ("bentmodels:Bent", "bentmodels:Bend", "line 18: [systems] bent", "has no 'Bend'", "mean Bent"),
    "import without a class": ("bentmodels:Bent", "bentmodels", "[systems] bent", "must be module:name", "MyModel"),
    "import of no class": ("bentmodels:Bent", "bentmodels:NOTHING", "[systems] bent", "not a class or function", ""),
    "class that is no system": (
        "bentmodels:Bent\", power = 0.5", 'bentmodels:Empty"', "[systems] bent", "is not a system", "score(users)"),
    "parameter of a class": ("power = 0.5", "pwer = 0.5", "[systems] bent", "no parameter 'pwer'", "mean power"),
    "baseline is a run": (
        'popularity = {}', 'popularity = { run = "log.parquet" }', "[evaluation] baseline", "not ranked under", "AN"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refused_before_data_are_read(case: str, place: Path) -> None:
    old, new, where, what, do = REFUSED[case]
    problem = refusal(place, old, new)
    assert problem.where.startswith("changed.toml")
    assert problem.where.endswith(where)
    assert what in str(problem)
    assert do in str(problem)


def test_syntax_errors_name_the_line(place: Path) -> None:
    problem = refusal(place, "ratio = 0.25", "ratio = = 0.25")
    assert "not valid TOML" in problem.what
    assert problem.where == "changed.toml, line 7, column 9"
    assert "ratio = = 0.25" in problem.found


def test_only_runs_under_a_sampled_design(place: Path) -> None:
    text = EXPERIMENT[: EXPERIMENT.index("[systems]")].replace('baseline = "popularity"\n', "")
    path = write_experiment(place, text + '[systems]\nmine = { run = "log.parquet" }\n', "runs.toml")
    with pytest.raises(TruevalError, match="no system can be ranked under this design"):
        read_experiment(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    write_experiment(tmp_path, EXPERIMENT)
    with pytest.raises(TruevalError, match=r"did you mean experiment\.toml"):
        read_experiment(tmp_path / "experimnt.toml")


def test_no_traceback_at_the_command_line(place: Path, trueval: Callable) -> None:
    path = write_experiment(place, EXPERIMENT.replace("plsa", "psla"), "typo.toml")
    ran = trueval("run", path, "-o", place / "never")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.splitlines()[:2] == [
        "error: there is no system 'psla'",
        "  where: typo.toml, line 17: [systems] psla",
    ]
    assert not (place / "never").exists()


def test_lines_of_keys() -> None:
    text = '# a\n[data]\n  path = "x"\n[ data.columns ]\nuser = "u"\n[systems]\n"my model" = {}\nb.factors = 3\n'
    assert find_lines(text) == {
        ("data", ""): 2, ("data", "path"): 3, ("data", "columns"): 4, ("systems", ""): 6, ("systems", "my model"): 7,
        ("systems", "b"): 8,
    }  # fmt: skip


def test_what_a_file_says(place: Path) -> None:
    experiment = read_experiment(place / "experiment.toml")
    assert experiment.splitting.seeds == (3, 5)
    assert experiment.splitting.options == {"ratio": 0.25}
    assert experiment.source.log == place / "log.parquet"
    assert experiment.options.threshold == 4
    assert experiment.interval == "nested"
    assert {name: entry.text for name, entry in experiment.systems.items()} == {
        "popularity": "popularity",
        "plsa": "plsa[factors=4,iterations=5]",
        "bent": "bentmodels:Bent[power=0.5]",
    }
    coverage = [[str(spec) for spec in plan.metrics] for plan in experiment.plans.values()]
    assert coverage == [["ndcg@10", "recall@20", "coverage@10"], ["ndcg@10", "recall@20"]]


def test_defaults() -> None:
    experiment = read_experiment(sections(evaluation={"metrics": "rr"}, split={"seed": 4}))
    assert list(experiment.plans) == ["AR-TI-AN"]
    assert (experiment.splitting.how, experiment.splitting.seeds, experiment.interval) == ("holdout", (4,), "bootstrap")
    assert experiment.baseline is None


@pytest.mark.parametrize("key", ["items.item", "'items.item'"])
def test_columns_of_one_table(place: Path, key: str) -> None:
    """The dot makes a table of a key without quotes, which is what people write."""
    pl.DataFrame({"item": range(40), "the_thing": [f"i{n}" for n in range(40)]}).write_csv(place / "named.csv")
    columns = f"[data.columns]\nuser = 'user'\n{key} = 'the_thing'\n"
    text = EXPERIMENT.replace("threshold = 4", f"threshold = 4\nitems = 'named.csv'\n{columns}", 1)
    source = read_experiment(write_experiment(place, text, "columns.toml")).source
    assert source.columns == {"user": "user", "items.item": "the_thing"}
    items = source.read_items()
    assert items is not None
    assert items["item"].to_list()[:2] == ["i0", "i1"]


def test_a_known_name_is_found_in_the_data_home(place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ml-1m").mkdir()
    monkeypatch.setenv("TRUEVAL_HOME", str(tmp_path))
    path = write_experiment(place, EXPERIMENT.replace('"log.parquet"', '"ml-1m"'), "named.toml")
    assert read_experiment(path).source.log == tmp_path / "ml-1m"
    monkeypatch.setenv("TRUEVAL_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(TruevalError, match="trueval data get ml-1m"):
        read_experiment(path)


def test_a_table_is_refused_in_place_of_a_number() -> None:
    with pytest.raises(TruevalError, match="path must be a string"):
        read_experiment(sections(data={"path": 3}))
    with pytest.raises(TruevalError, match="not an experiment"):
        read_experiment(pl.DataFrame())  # type: ignore[arg-type]
