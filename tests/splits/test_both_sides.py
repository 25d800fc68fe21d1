"""A biased log and an unbiased test: read from whatever holds them, evaluated on both, compared by τ."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.data.interactions import Interactions
from trueval.data.read import read, read_pair
from trueval.errors import DataError, DefinitionError
from trueval.splits import load_parts, split

USERS, ITEMS = 40, 30
SYSTEMS = ["popularity", "random", "average", "itemknn"]


def matrices(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ratings 1 to 5 of items that users chose, mostly popular ones, and of items drawn for them; 0 is missing."""
    rng = np.random.default_rng(seed)
    taste = rng.integers(1, 6, (USERS, ITEMS))
    chosen = rng.random((USERS, ITEMS)) < np.linspace(0.9, 0.1, ITEMS)
    drawn = rng.random((USERS, ITEMS)) < 0.3
    return taste * chosen, taste * drawn


def pairs(matrix: np.ndarray) -> set[tuple[int, int, float]]:
    return {(int(u), int(i), float(matrix[u, i])) for u, i in zip(*np.nonzero(matrix))}


def rows(log: Interactions) -> set[tuple[int, int, float]]:
    return set(log.frame.select("user", "item", "value").rows())


@pytest.fixture
def coat(tmp_path: Path) -> Path:
    """A small folder in the layout of Coat."""
    folder = tmp_path / "coat"
    folder.mkdir()
    for name, matrix in zip(("train.ascii", "test.ascii"), matrices()):
        np.savetxt(folder / name, matrix, fmt="%d")
    return folder


def triples(folder: Path, separator: str) -> Path:
    folder.mkdir()
    for name, matrix in zip(("train.txt", "test.txt"), matrices()):
        lines = [separator.join(f"{field:g}" for field in row) for row in sorted(pairs(matrix))]
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def check(parts: tv.Parts) -> None:
    """Train and observed come from the biased log, test is the unbiased one, and no tested pair is learned from."""
    biased, random = (pairs(matrix) for matrix in matrices())
    assert rows(parts.test) == random
    assert parts.observed is not None
    assert rows(parts.observed) <= biased
    tested = {row[:2] for row in random | rows(parts.observed)}
    assert {row for row in biased if row[:2] not in tested} == rows(parts.train)


def test_a_folder_with_both_given_as_the_unbiased_part(coat: Path) -> None:
    check(split(read(coat), "unbiased", mar=coat))
    check(split(coat, "unbiased", mar=str(coat)))
    check(split(coat, "unbiased"))
    check(split(coat / "train.ascii", "unbiased", mar=coat / "test.ascii"))
    check(split(coat / "train.ascii", "unbiased", mar=coat))


@pytest.mark.parametrize("separator", ["\t", " ", ",", "::"])
def test_files_without_header(separator: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = triples(tmp_path / "set", separator)
    check(split(folder, "unbiased"))
    said = capsys.readouterr().err
    assert "value=2" in said
    assert "values 1 to 5" in said
    assert "--threshold" in said
    assert rows(read(folder / "test.txt")) == pairs(matrices()[1])
    assert rows(read(folder / "test.txt", columns="user=0,item=1,value=2")) == pairs(matrices()[1])


def test_a_third_column_that_is_no_rating_is_not_taken_for_one(tmp_path: Path) -> None:
    for third, advice in (("1700000000", "user=0,item=1,time=2)"), ("250", "user=0,item=1,value=2)")):
        (tmp_path / "train.txt").write_text("".join(f"{user} {user + 1} {third}\n" for user in range(5)))
        with pytest.raises(DataError, match="no header") as caught:
            read(tmp_path / "train.txt")
        assert advice in caught.value.do
    (tmp_path / "log.txt").write_text("1,2,4.5,1700000000\n3,4,2,1700000001\n")
    with pytest.raises(DataError, match="no header") as caught:
        read(tmp_path / "log.txt")
    assert "user=0,item=1,value=2,time=3); --threshold" in caught.value.do
    (tmp_path / "run.txt").write_text("1,2,0.5\n3,4,0.2\n")
    with pytest.raises(DataError, match="no header") as caught:
        tv.evaluate_run(tmp_path / "run.txt", pl.DataFrame({"user": [1], "item": [2]}))
    assert "user=0,item=1,score=2)" in caught.value.do


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_archives(kind: str, coat: Path, tmp_path: Path) -> None:
    packed = shutil.make_archive(str(tmp_path / "coat"), kind, root_dir=coat.parent, base_dir="coat")
    check(split(packed, "unbiased"))
    assert rows(read(packed)) == pairs(matrices()[0])
    bare = shutil.make_archive(str(tmp_path / "one"), kind, root_dir=coat, base_dir="test.ascii")
    assert rows(read(bare)) == pairs(matrices()[1])
    read(coat).frame.write_csv(tmp_path / "log.csv")
    table = shutil.make_archive(str(tmp_path / "log"), kind, root_dir=tmp_path, base_dir="log.csv")
    assert rows(read(table)) == pairs(matrices()[0])


def test_what_has_no_unbiased_part_is_refused(tmp_path: Path) -> None:
    (tmp_path / "u.data").write_text("1\t2\t3\t4\n")
    with pytest.raises(DefinitionError, match="second table"):
        split(tmp_path, "unbiased")
    with pytest.raises(DefinitionError, match="second table"):
        read_pair(pl.DataFrame({"user": [1], "item": [1]}))


def tau_b(one: list[float], other: list[float]) -> float:
    """Kendall's τ-b from its definition, over all pairs of systems."""
    upper = np.triu_indices(len(one), 1)
    a, b = (np.sign(np.subtract.outer(scores, scores))[upper] for scores in (one, other))
    return float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))


def test_both_sides_are_evaluated(coat: Path) -> None:
    parts = split(coat, "unbiased", ratio=0.3, seed=3)
    options = {"metrics": ["ndcg@5", "recall@5", "coverage@5"], "threshold": 4}
    result = tv.evaluate(parts, SYSTEMS, **options)
    assert result.observed is not None
    for side, own in (("unbiased", result), ("observed", result.observed)):
        assert result.table().filter(tested=side).drop("tested").equals(tv.Result(own.evaluation).table())
        assert set(result.per_user.filter(tested=side)["user"]) == set(own.evaluation.per_user()["user"])
    for found in result.alike:
        scores = [[side[name, found.metric].value for name in SYSTEMS] for side in (result, result.observed)]
        assert found.observed == pytest.approx(tau_b(*scores))
        assert found.summary in str(result)
    assert [found.metric for found in result.alike] == options["metrics"]
    record = json.loads(result.to_json())
    assert record["observed"]["systems"].keys() == record["systems"].keys()
    assert [one["tau"] for one in record["agreement"]] == [one.tau for one in result.alike]
    assert "## Observed" in result.to_markdown()
    assert "% agreement" in result.to_latex()
    assert not any("threshold" in warning for warning in result.warnings)
    assert any("threshold" in warning for warning in tv.evaluate(parts, SYSTEMS[:1], metrics="ndcg@5").warnings)


def test_each_side_is_what_it_is_alone(coat: Path) -> None:
    parts = split(coat, "unbiased", ratio=0.3, seed=3)
    options = {"metrics": "recall@5", "threshold": 4, "ties": "expected", "interval": "none"}
    both = tv.evaluate(parts, ["popularity", "average"], **options)
    for own, test in ((both, parts.test), (both.observed, parts.observed)):
        alone = tv.evaluate(split(parts.train, "given", test=test), ["popularity", "average"], **options)
        assert alone.observed is None
        for name in ("popularity", "average"):
            assert own[name, "recall@5"].value == pytest.approx(alone[name, "recall@5"].value)
        assert own.random["recall@5"] == pytest.approx(alone.random["recall@5"])


def test_a_known_reversal_is_shown() -> None:
    """Popular items are observed, others are liked: the orders of two opposite systems are reversed."""
    ids = np.arange(20)
    train = pl.DataFrame({"user": np.repeat(ids, 2), "item": np.tile([0, 1], 20), "value": 1.0})
    biased = pl.DataFrame({"user": ids, "item": [2] * 20, "value": 1.0})
    liked = pl.DataFrame({"user": np.repeat(ids, 2), "item": np.tile([2, 3], 20), "value": np.tile([0.0, 1.0], 20)})
    score = {"chosen": [0, 0, 2, 1], "liked": [0, 0, 1, 2], "middle": [0, 0, 1, 1]}
    systems = {name: tv.Function(lambda users, row=row: np.tile(row, (len(users), 1))) for name, row in score.items()}
    log = [Interactions.of(frame) for frame in (train, liked, biased)]
    parts = tv.Parts(log[0], log[1], observed=log[2], how={"how": "by hand"})
    result = tv.evaluate(parts, systems, metrics="precision@1", design="AR-AI-AN", ties="expected")
    assert [result[name, "precision@1"].value for name in score] == [0.0, 1.0, 0.5]
    assert [result.observed[name, "precision@1"].value for name in score] == [1.0, 0.0, 0.5]
    assert result.alike[0].tau == -1


def test_seeds_and_saved_folders(coat: Path, tmp_path: Path) -> None:
    parts = [split(coat, "unbiased", ratio=0.3, seed=seed) for seed in (1, 2)]
    result = tv.evaluate(parts, SYSTEMS, metrics="ndcg@5", threshold=4)
    assert len(result.observed.repeats) == 2
    assert len(result.alike) == 1
    result.save(tmp_path / "many")
    saved = tv.agreement(tmp_path / "many")
    assert sorted(saved.labels) == ["observed: ndcg@5", "unbiased: ndcg@5"]
    assert saved.tau.observed[0, 1] == pytest.approx(result.alike[0].observed)
    tv.evaluate(parts[0], SYSTEMS, metrics="ndcg@5", threshold=4).save(tmp_path / "one")
    assert len(tv.compare(tmp_path / "one/designs/observed", baseline="random")) == 3


def test_the_command_line_and_experiments(trueval, coat: Path, tmp_path: Path) -> None:
    for data, mar, out in ((coat, [], "a"), (coat / "train.ascii", ["--mar", coat], "b")):
        ran = trueval("split", data, "--how", "unbiased", *mar, "--ratio", 0.3, "-o", tmp_path / out)
        assert ran.code == 0, ran.err
        check(load_parts(tmp_path / out))
    ran = trueval("split", coat / "train.ascii", "--how", "unbiased", "-o", tmp_path / "c")
    assert ran.code == 2
    assert "--mar" in ran.err
    (tmp_path / "e.toml").write_text(
        '[data]\npath = "coat"\nthreshold = 4\n[split]\nhow = "unbiased"\nratio = 0.3\nseeds = [1, 2]\n'
        '[evaluation]\nmetrics = ["ndcg@5"]\n[systems]\n' + "".join(f"{name} = {{}}\n" for name in SYSTEMS)
    )
    ran = trueval("run", tmp_path / "e.toml", "-o", tmp_path / "out", "--format", "json")
    assert ran.code == 0, ran.err
    record = json.loads(ran.out)
    assert list(record["designs"]) == ["AR-TI-AN", "AR-TI-AN-observed"]
    parts = [split(coat, "unbiased", ratio=0.3, seed=seed) for seed in (1, 2)]
    # the seed of the systems goes with that of the split in an experiment: one without chance is compared
    alone = [tv.evaluate(one, ["popularity"], metrics="ndcg@5", threshold=4, seed=s) for s, one in zip((1, 2), parts)]
    for design, side in (("AR-TI-AN", alone), ("AR-TI-AN-observed", [one.observed for one in alone])):
        found = record["designs"][design]["systems"]["popularity"]["metrics"]["ndcg@5"]["value"]
        assert found == pytest.approx(np.mean([one["popularity", "ndcg@5"].value for one in side]))
    assert [(a["one"], a["other"]) for a in record["agreement"]] == [("AR-TI-AN", "AR-TI-AN-observed")]
    shown = trueval("run", tmp_path / "e.toml", "-o", tmp_path / "out", "--resume")
    assert "AR-TI-AN and AR-TI-AN-observed" in shown.out
    again = (tmp_path / "e.toml").read_text().replace('path = "coat"', 'path = "coat/train.ascii"')
    (tmp_path / "f.toml").write_text(again.replace("ratio", 'mar = "coat"\nratio'))
    ran = trueval("run", tmp_path / "f.toml", "-o", tmp_path / "other", "--format", "json")
    assert json.loads(ran.out)["agreement"] == record["agreement"]
    (tmp_path / "f.toml").write_text(again)
    ran = trueval("run", tmp_path / "f.toml", "-o", tmp_path / "none")
    assert ran.code == 2
    assert "second table" in ran.err


def test_cm100k_on_both_sides(data_folder) -> None:
    """All ratings are a random sample; those of known music are what a system would have observed."""
    parts = split(data_folder("cm100k"), "unbiased", ratio=0.2, sample=0.2)
    assert len(parts.train) + len(parts.observed) == 11_594
    assert parts.train.frame["known"].unique().to_list() == [1]
    result = tv.evaluate(parts, ["popularity", "random", "average"], metrics="precision@5", threshold=3)
    lift = [side["popularity", "precision@5"].value / side.random["precision@5"] for side in (result, result.observed)]
    assert lift[1] > 2 * lift[0] > 2  # popularity looks better than it is
