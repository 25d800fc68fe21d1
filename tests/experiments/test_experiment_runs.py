"""Experiments: the numbers are those of evaluate, every system is fitted once per split, and the folder can be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from experiment_worlds import EXPERIMENT, fits, head, make_folder, sections, write_experiment

import trueval as tv
from trueval.errors import TruevalError
from trueval.evaluation.repeats import combine
from trueval.experiments.splitting import Splitting
from trueval.facts.views import shortened
from trueval.metrics.measure import toy_facts


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an experiment that has run."""
    folder = make_folder(tmp_path_factory.mktemp("done"))
    tv.run(folder / "experiment.toml", folder / "out")
    return folder


def direct(folder: Path, seed: int, design: str, metrics: list[str], **options: Any) -> tv.Result:
    """The same by hand."""
    import sys

    sys.path.insert(0, str(folder))
    try:
        sys.modules.pop("bentmodels", None)
        from bentmodels import Bent  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(folder))
    parts = tv.split(tv.read(folder / "log.parquet"), "holdout", ratio=0.25, seed=seed)
    systems = {"popularity": "popularity", "plsa": "plsa[factors=4,iterations=5]", "bent": Bent(0.5)}
    return tv.evaluate(parts, systems, design=design, metrics=metrics, threshold=4, seed=seed, **options)


def test_numbers_are_those_of_evaluate(done: Path) -> None:
    users = pl.read_parquet(done / "out" / "results.parquet")
    record = json.loads((done / "out" / "summary.json").read_text())
    assert users.columns[:4] == ["design", "repeat", "system", "user"]
    for design, metrics in (
        ("AR-TI-AN", ["ndcg@10", "recall@20", "coverage@10"]),
        ("1R-TI-NN20", ["ndcg@10", "recall@20"]),
    ):
        repeats = {}
        for seed in (3, 5):
            one = direct(done, seed, design, metrics, interval="t")
            assert head(users, design=design, repeat=f"seed {seed}").equals(one.per_user)
            repeats[f"seed {seed}"] = one.evaluation
        whole = tv.Result(combine(repeats), repeats)
        expected = json.loads(json.dumps(whole.to_dict(baseline="popularity"), default=str))
        found = record["designs"][design]
        for part in ("systems", "comparisons", "random", "repeats"):
            assert found[part] == expected[part]


def test_one_seed_has_the_intervals_of_evaluate(place: Path) -> None:
    found = tv.run(place / "experiment.toml", seed=3)
    one = direct(place, 3, "1R-TI-NN20", ["ndcg@10", "recall@20"])
    assert found["1R-TI-NN20"].table().equals(one.table())
    assert found["1R-TI-NN20"].manifest["interval"] == "bootstrap"
    assert found.results["1R-TI-NN20"].per_user.equals(one.per_user)


def test_every_system_is_fitted_once_per_split_whatever_the_designs(place: Path) -> None:
    text = EXPERIMENT.replace('"1R-TI-NN20"]', '"1R-TI-NN20", "AR-AI-AN", "P1R3-TI-AN", "AR-TI-AN-condensed"]')
    tv.run(write_experiment(place, text))
    assert fits(place) == ["bent 3", "bent 5"]


@pytest.mark.parametrize(
    ("design", "ties"),
    [
        ("AR-TI-AN-condensed", "random"),
        ("AR-TI-AN-condensed", "worst"),
        ("P1R3-TI-AN", "random"),
        ("1R-TI-NN5-resample", "best"),
        ("AR-AI-NN10pop", "expected"),
        ("AR-AI-AN", "worst"),
    ],
)
def test_lists_kept_longer_than_asked_for_change_nothing(design: str, ties: str) -> None:
    metrics = ["ndcg@5", "recall@20", "ap", "rr"] + (["list_length"] if "1R" not in design else [])
    if "1R" not in design and ties != "worst":  # which has no exact coverage
        metrics.append("coverage@5")
    chosen = sections(evaluation={"designs": design, "metrics": metrics, "ties": ties, "interval": "none"})
    found = tv.run(chosen)[design]
    parts = tv.split(chosen["data"]["path"], "holdout", ratio=0.25, seed=7)
    one = tv.evaluate(
        parts, ["popularity", "average"], design=design, metrics=metrics, threshold=4, seed=7, ties=ties,
        interval="none",
    )  # fmt: skip
    assert found.table().equals(one.table())
    assert found.per_user.equals(one.per_user)
    assert found.warnings[: len(one.warnings)] == one.warnings


def test_shortened_lists() -> None:
    facts = toy_facts(["a", "b", "c", "d"], {"c"})
    assert shortened(facts, 9) is facts
    short = shortened(facts, 3)
    assert short.list_item.tolist() == facts.list_item.tolist()[:3]
    assert short.list_start.tolist() == [0, 3]
    assert short.rank.tolist() == facts.rank.tolist()


def test_names_of_repeats() -> None:
    log = tv.read(sections()["data"]["path"])

    def names(how: str, seeds: tuple[int, ...], **options: Any) -> list[str]:
        return [one.name for several in Splitting(how, options, seeds).repeats(log) for one in several]

    assert names("holdout", (4,)) == [""]
    assert names("holdout", (4, 2)) == ["seed 4", "seed 2"]
    assert names("kfold", (1,), n=3) == ["fold 1", "fold 2", "fold 3"]
    assert names("kfold", (1, 2), n=2) == [
        "fold 1 of seed 1",
        "fold 2 of seed 1",
        "fold 1 of seed 2",
        "fold 2 of seed 2",
    ]
    assert names("rolling", (1, 2), windows=2) == [
        "window 1, seed 1",
        "window 2, seed 1",
        "window 1, seed 2",
        "window 2, seed 2",
    ]
    assert names("temporal", (1, 2)) == ["seed 1", "seed 2"]


def test_folds_are_combined_like_those_of_evaluate() -> None:
    chosen = sections(
        split={"how": "kfold", "n": 3, "seed": 2}, evaluation={"metrics": ["ndcg@5"], "interval": "nested"}
    )
    del chosen["split"]["ratio"]
    found = tv.run(chosen)["AR-TI-AN"]
    folds = tv.split(chosen["data"]["path"], "kfold", n=3, seed=2)
    one = tv.evaluate(folds, ["popularity", "average"], metrics=["ndcg@5"], threshold=4, seed=2, interval="nested")
    assert found.table().equals(one.table())
    assert list(found.repeats) == ["fold 1", "fold 2", "fold 3"]


def test_folds_of_several_seeds_are_repeats_of_their_own() -> None:
    chosen = sections(split={"how": "kfold", "n": 2, "seeds": [1, 2]}, evaluation={"metrics": ["ndcg@5"]})
    del chosen["split"]["ratio"], chosen["split"]["seed"]
    found = tv.run(chosen)["AR-TI-AN"]
    each = [
        tv.evaluate(fold, ["popularity"], metrics=["ndcg@5"], threshold=4, seed=seed)["popularity", "ndcg@5"].value
        for seed in (1, 2)
        for fold in tv.split(chosen["data"]["path"], "kfold", n=2, seed=seed)
    ]  # fmt: skip
    assert found["popularity", "ndcg@5"].value == pytest.approx(np.mean(each), abs=1e-15)
    assert found["popularity", "ndcg@5"].n == 4


def test_parts_that_were_split_before(place: Path) -> None:
    parts = tv.split(tv.read(place / "log.parquet"), "holdout", ratio=0.3, seed=1)
    for name, log in (("train", parts.train), ("test", parts.test)):
        log.frame.rename({"user": "who", "item": "what"}).write_csv(place / f"{name}.csv")
    text = """
        data = { path = "train.csv", threshold = 4, columns = { user = "who", item = "what" } }
        split = { how = "given", test = "test.csv" }
        evaluation = { metrics = ["ndcg@10"] }
        systems = { popularity = {} }
    """
    found = tv.run(write_experiment(place, text))["AR-TI-AN"]
    one = tv.evaluate(parts, ["popularity"], metrics=["ndcg@10"], threshold=4)
    assert found.table().equals(one.table())


def write_runs(place: Path, seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        parts = tv.split(tv.read(place / "log.parquet"), "holdout", ratio=0.25, seed=seed)
        users, items = parts.test.frame["user"].unique().sort(), parts.train.frame["item"].unique().sort()
        rows = (
            users.to_frame()
            .join(items.to_frame(), how="cross")
            .with_columns(
                score=(pl.struct("user", "item").hash(seed) % 1000).cast(pl.Float64) + pl.int_range(pl.len()) * 1e-6
            )
        )
        kept = rows.join(parts.train.frame, on=["user", "item"], how="anti").sort(
            "user", "score", descending=[False, True]
        )
        kept.group_by("user", maintain_order=True).head(30).write_parquet(place / f"mine-{seed}.parquet")


def test_runs_are_judged_where_they_can_be_and_each_split_may_have_its_own(place: Path) -> None:
    write_runs(place, (3, 5))
    text = EXPERIMENT.replace("[systems]", '[systems]\nmine = { run = "mine-{seed}.parquet" }')
    found = tv.run(write_experiment(place, text))
    assert list(found["AR-TI-AN"].evaluation.systems) == ["mine", "popularity", "plsa", "bent"]
    assert list(found["1R-TI-NN20"].evaluation.systems) == ["popularity", "plsa", "bent"]
    assert any("sampled targets: mine" in note for note in found["1R-TI-NN20"].warnings)
    for seed in (3, 5):
        parts = tv.split(tv.read(place / "log.parquet"), "holdout", ratio=0.25, seed=seed)
        run = tv.Run(place / f"mine-{seed}.parquet")
        one = tv.evaluate(parts, {"mine": run}, metrics=["ndcg@10"], threshold=4, seed=seed)["mine", "ndcg@10"]
        assert found["AR-TI-AN"].repeats[f"seed {seed}"].systems["mine"].estimates["ndcg@10"].value == one.value
    assert found.warnings == []


def test_one_run_for_several_splits_is_warned_of(place: Path) -> None:
    write_runs(place, (3,))
    text = EXPERIMENT.replace("[systems]", '[systems]\nmine = { run = "mine-3.parquet" }')
    found = tv.run(write_experiment(place, text.replace(', "1R-TI-NN20"', "")))
    assert "one run for all 2 splits" in found.warnings[0]
    assert not tv.run(place / "experiment.toml", seed=3).warnings


def test_two_variants_of_a_system_stand_side_by_side(place: Path) -> None:
    text = EXPERIMENT.replace("[systems]", '[systems]\nwide = { system = "plsa", factors = 9, iterations = 5 }')
    found = tv.run(write_experiment(place, text), seed=3)
    assert found.manifest["systems"]["wide"]["definition"] == "plsa[factors=9,iterations=5]"
    values = [found["AR-TI-AN"][name, "ndcg@10"].value for name in ("wide", "plsa")]
    assert values[0] != values[1]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("bentmodels:Careless", ["fit did not return the system", "return self"]),
        ("bentmodels:Rude", ["bentmodels:Rude failed", "bentmodels.py, line", "TypeError: no such power"]),
    ],
)
def test_a_class_that_fails_is_named_with_its_line(place: Path, target: str, words: list[str]) -> None:
    path = write_experiment(place, EXPERIMENT.replace("bentmodels:Bent", target))
    with pytest.raises(TruevalError) as caught:
        tv.run(path)
    assert caught.value.where.startswith("[systems] bent")
    assert all(word in str(caught.value) for word in words)


def test_a_function_may_make_the_system(place: Path) -> None:
    text = EXPERIMENT.replace("bentmodels:Bent", "bentmodels:make_bent")
    made = tv.run(write_experiment(place, text), seed=3)["AR-TI-AN"]
    assert made["bent", "ndcg@10"] == tv.run(write_experiment(place, EXPERIMENT), seed=3)["AR-TI-AN"]["bent", "ndcg@10"]


def test_a_module_that_has_changed_is_read_again(place: Path) -> None:
    before = tv.run(place / "experiment.toml", seed=3)["AR-TI-AN"]["bent", "ndcg@10"].value
    text = (place / "bentmodels.py").read_text()
    (place / "bentmodels.py").write_text(text.replace("self.weight + 2 * bend", "-self.weight + bend / 9"))
    assert tv.run(place / "experiment.toml", seed=3)["AR-TI-AN"]["bent", "ndcg@10"].value < before / 2


def test_a_model_of_another_library(place: Path) -> None:
    pytest.importorskip("implicit")
    model = '{ import = "implicit.als:AlternatingLeastSquares", factors = 4, iterations = 2, random_state = 1 }'
    text = EXPERIMENT.replace("plsa = { factors = 4, iterations = 5 }", f"als = {model}")
    path = write_experiment(place, text)
    first = tv.run(path, place / "out")
    again = tv.run(path, place / "out", resume=True)
    assert 0 < first["AR-TI-AN"]["als", "ndcg@10"].value < 1
    assert again.table().equals(first.table())
    assert again["AR-TI-AN"].warnings == first["AR-TI-AN"].warnings


@pytest.mark.parametrize(
    ("choices", "options"),
    [
        ({"population": "all", "ties": "expected", "interval": "bca", "resamples": 200}, {}),
        ({"compat": "trec_eval", "level": 0.8}, {}),
        ({"metrics": ["snips(recall)@10", "ndcg@5"], "propensity": "popularity:0.5"}, {}),
        ({"test": "permutation", "correct": "bh", "baseline": "average"}, {"test": "permutation", "correct": "bh"}),
    ],
    ids=lambda case: ", ".join(case),
)
def test_choices_are_those_of_evaluate(choices: dict[str, Any], options: dict[str, Any]) -> None:
    chosen = sections(evaluation=choices)
    found = tv.run(chosen)
    parts = tv.split(chosen["data"]["path"], "holdout", ratio=0.25, seed=7)
    names = [name for name in chosen["evaluation"] if name not in ("test", "correct", "baseline")]
    rules = {name: chosen["evaluation"][name] for name in names}
    one = tv.evaluate(parts, ["popularity", "average"], threshold=4, seed=7, **rules)
    assert found["AR-TI-AN"].table().equals(one.table())
    if options:
        expected = one.compare("average", seed=7, **options)
        assert [c.record() for c in found.comparisons["AR-TI-AN"]] == [c.record() for c in expected]


def test_problems_with_the_data_name_the_design_or_the_system(place: Path) -> None:
    write_runs(place, (3,))
    text = EXPERIMENT.replace("seeds = [3, 5]", "seed = 3")
    with pytest.raises(TruevalError, match="impossible for this data") as caught:
        tv.run(write_experiment(place, text.replace("NN20", "NN75")))
    assert caught.value.where == "[evaluation] designs: 1R-TI-NN75"
    changed = text.replace('"recall@20"', '"auc"') + 'mine = { run = "mine-3.parquet" }\n'
    with pytest.raises(TruevalError, match="auc needs the rank of every judged item") as caught:
        tv.run(write_experiment(place, changed))
    assert caught.value.where == "[systems] mine"
    with pytest.raises(TruevalError, match="no such file") as caught:
        tv.run(write_experiment(place, text + 'mine = { run = "mine-{fold}.parquet" }\n'))
    assert caught.value.where.startswith("[systems] mine")


def test_groups_and_catalogue(place: Path) -> None:
    text = EXPERIMENT.replace("seeds = [3, 5]", "seed = 3").replace('baseline = "popularity"', 'by = "activity"')
    text = text.replace('"1R-TI-NN20"', '"AR-LIST-AN"').replace(
        "threshold = 4", 'threshold = 4\nitems = "items.parquet"'
    )
    found = tv.run(write_experiment(place, text))
    parts = tv.split(tv.read(place / "log.parquet"), "holdout", ratio=0.25, seed=3)
    one = tv.evaluate(
        parts, ["popularity"], design="AR-LIST-AN", metrics=["ndcg@10"], threshold=4, seed=3, by="activity",
        items=place / "items.parquet",
    )  # fmt: skip
    mine = found["AR-LIST-AN"].by("activity").filter(system="popularity", metric="ndcg@10")
    assert mine.equals(one.by("activity").filter(metric="ndcg@10"))
    assert "By activity" in found.to_html()


def test_designs_agree_as_far_as_the_values_say(done: Path) -> None:
    from scipy.stats import kendalltau

    found = tv.run(done / "experiment.toml")
    alike = {a.metric: a for a in found.agreement}
    assert list(alike) == ["ndcg@10", "recall@20"]
    table = found.table()
    for metric, a in alike.items():
        one, other = (
            table.filter((pl.col("design") == design) & pl.col("metric").str.starts_with(metric))["value"]
            for design in ("AR-TI-AN", "1R-TI-NN20")
        )
        assert a.observed == pytest.approx(kendalltau(one, other).statistic)
        assert a.low <= a.tau <= a.high
        assert a.systems == 3


def test_two_systems_have_no_agreement() -> None:
    found = tv.run(sections(evaluation={"designs": ["AR-TI-AN", "1R-TI-AN"], "metrics": ["auc"]}))
    assert found.agreement == []
    assert "at least 3 systems" in str(found)


def test_an_experiment_in_memory_is_that_of_the_file(done: Path) -> None:
    import tomllib

    chosen = tomllib.loads(EXPERIMENT.replace('"log.parquet"', "0"))
    chosen["data"]["path"] = pl.read_parquet(done / "log.parquet")
    del chosen["systems"]["bent"]
    found = tv.run(chosen)
    written = json.loads((done / "out" / "summary.json").read_text())
    mine = json.loads(found.to_json())
    for system in ("popularity", "plsa"):
        assert mine["designs"]["AR-TI-AN"]["systems"][system] == written["designs"]["AR-TI-AN"]["systems"][system]
    assert mine["manifest"]["experiment"]["data"]["path"] == "DataFrame"
    with pytest.raises(TruevalError, match="no design 'AR-AI-AN'"):
        found["AR-AI-AN"]


def test_files_of_the_folder(done: Path) -> None:
    out = done / "out"
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    manifest = json.loads((out / "manifest.json").read_text())
    keys = {key for design in manifest["facts"].values() for repeat in design.values() for key in repeat.values()}
    assert len(keys) == 2 * 2 * 3
    facts = {
        f"facts/{key}/{name}"
        for key in keys
        for name in ("facts.json", "units.parquet", "users.parquet", "items.parquet")
    }
    tables = {f"designs/{d}/seed-{s}/results.parquet" for d in ("AR-TI-AN", "1R-TI-NN20") for s in (3, 5)}
    assert names == facts | tables | {
        "results.parquet", "summary.json", "manifest.json", "report.html", "experiment.toml", "experiment.json",
    }  # fmt: skip
    assert (out / "experiment.toml").read_text() == EXPERIMENT
    assert json.loads((out / "experiment.json").read_text())["state"] == "finished"
    one = tv.load_facts(out / "facts" / manifest["facts"]["AR-TI-AN"]["seed 3"]["plsa"])
    assert one.label["system"] == "plsa[factors=4,iterations=5]"
    page = (out / "report.html").read_text()
    assert "<h2>AR-TI-AN</h2>" in page
    assert "<h2>1R-TI-NN20</h2>" in page


def test_compare_reads_a_design_of_the_folder(done: Path, trueval: Callable) -> None:
    ran = trueval("compare", done / "out", "--baseline", "popularity")
    assert ran.code == 2
    assert "several designs" in ran.err
    assert "1R-TI-NN20, AR-TI-AN" in ran.err
    chosen = trueval("compare", done / "out" / "designs" / "AR-TI-AN", "--baseline", "popularity", "--format", "json")
    found = json.loads(chosen.out)["comparisons"]
    record = json.loads((done / "out" / "summary.json").read_text())
    for mine, theirs in zip(found, record["designs"]["AR-TI-AN"]["comparisons"], strict=True):
        assert mine["p"] == pytest.approx(theirs["p"], rel=1e-9)
        assert mine["verdict"] == theirs["verdict"]
    agreement = trueval("compare", done / "out", "--agreement", "--metrics", "ndcg@10", "--format", "json")
    (pair,) = json.loads(agreement.out)["agreement"]
    assert {pair["one"], pair["other"]} == {"AR-TI-AN: ndcg@10", "1R-TI-NN20: ndcg@10|n=20"}


def test_compare_reads_a_folder_with_one_design(place: Path, trueval: Callable) -> None:
    tv.run(write_experiment(place, EXPERIMENT.replace(', "1R-TI-NN20"', "")), place / "out")
    ran = trueval("compare", place / "out", "--metrics", "ndcg@10")
    assert ran.code == 0
    assert "compared with popularity" in ran.out


def test_the_command(place: Path, trueval: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    ran = trueval("run", "experiment.toml")
    assert ran.code == 0
    assert "wrote experiment-results; report: experiment-results/report.html" in ran.err
    assert (place / "experiment-results" / "report.html").exists()
    for words in ("AR-TI-AN\n", "1R-TI-NN20\n", "by chance", "compared with popularity", "rank the systems alike?"):
        assert words in ran.out
    assert ran.out.count("\nndcg@10 = ") == 1
    quiet = trueval("run", "experiment.toml", "--resume", "--quiet")
    assert quiet.err == ""
    assert quiet.out == ran.out


def test_formats(done: Path, trueval: Callable) -> None:
    ran = trueval("run", done / "experiment.toml", "-o", done / "out", "--resume", "--format", "json", "--quiet")
    assert ran.code == 0
    assert json.loads(ran.out) == json.loads((done / "out" / "summary.json").read_text())
    csv = trueval("run", done / "experiment.toml", "-o", done / "out", "--resume", "--format", "csv", "--quiet")
    rows = pl.read_csv(csv.out.encode())
    assert rows.columns[:3] == ["design", "system", "metric"]
    assert len(rows) == 3 * 3 + 3 * 2
    told = {(row["design"], row["system"], row["metric"]): row for row in rows.to_dicts()}
    for design, record in json.loads(ran.out)["designs"].items():
        assert record["comparisons"]
        for c in record["comparisons"]:
            row = told[design, c["system"], c["metric"]]
            assert (row["difference"], row["p"], row["verdict"]) == (c["difference"], c["p"], c["verdict"])
    found = tv.run(done / "experiment.toml")
    assert found.to_markdown().count("|---|") == 5  # two designs, each with its comparisons, and how far they agree
    assert found.to_latex().count(r"\toprule") == 5
    assert trueval("run", done / "experiment.toml", "--format", "xml").code == 2


def test_threads_change_nothing(place: Path) -> None:
    one, two = (tv.run(place / "experiment.toml", threads=n).per_user for n in (1, 2))
    assert one.equals(two)
