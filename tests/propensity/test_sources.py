"""Every source of propensities, as it is written at the command line, in Python and in an experiment file."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest

import trueval as tv

METRIC = "snips(recall)@2"


@pytest.fixture
def shop(tmp_path):
    """Recommendations, a test log with positions and chances, a train log, displays, clicks and a random slice."""
    rng = np.random.default_rng(5)
    users, items = 30, 8
    names = [f"i{k}" for k in range(items)]
    pairs = [(u, names[i]) for u in range(users) for i in rng.choice(items, 3, replace=False)]
    test = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    test = test.with_columns(
        position=pl.Series(rng.integers(1, 4, len(pairs))), chance=pl.Series(rng.uniform(0.1, 1, len(pairs)))
    )
    recs = [(u, names[i], r) for u in range(users) for r, i in enumerate(rng.choice(items, 2, replace=False), 1)]
    train = [(100 + t, names[i]) for t in range(40) for i in rng.choice(items, 1 + t % 3, replace=False)]
    shown = [(names[i % items], 1 + i % 3, int(rng.random() < 0.9 / (1 + i % 3))) for i in range(1200)]
    files = {
        "test": test,
        "recs": pl.DataFrame(recs, schema=["user", "item", "rank"], orient="row"),
        "train": pl.DataFrame(train, schema=["user", "item"], orient="row"),
        "displays": pl.DataFrame({"item": [names[i % items] for i in range(100)] + names}),
        "clicks": pl.DataFrame(shown, schema=["item", "position", "click"], orient="row"),
        "given": pl.DataFrame({"item": names, "p": rng.uniform(0.1, 1, items)}),
    }
    for name, table in files.items():
        table.write_csv(tmp_path / f"{name}.csv")
    return tmp_path, files


def naive(files, chances) -> float:
    """Σ over relevant pairs of hit/p, over the sum of 1/p."""
    shown = set(files["recs"].select("user", "item").rows())
    rows = files["test"].select("user", "item", "position", "chance").rows()
    weights = [1 / chances(*row) for row in rows]
    hits = sum(w for (u, i, *_), w in zip(rows, weights) if (u, i) in shown)
    return hits / sum(weights)


def by_column(files):
    return lambda user, item, position, chance: chance


def by_table(files):
    p = dict(files["given"].rows())
    return lambda user, item, position, chance: p[item]


def by_popularity(files):
    n = Counter(files["train"]["item"].to_list())
    return lambda user, item, position, chance: (n[item] / max(n.values())) ** 0.75


def by_display(files):
    n = Counter(files["displays"]["item"].to_list())
    return lambda user, item, position, chance: n[item] / sum(n.values())


def by_slice(files):
    rows = files["clicks"].select("position", "click").rows()
    rate = {k: np.mean([c for p, c in rows if p == k]) for k in (1, 2, 3)}
    return lambda user, item, position, chance: rate[position] / max(rate.values())


def by_model(files):
    """θ by plain repetition of its equations: θ_p = clicks at p / Σ_items clicks of i · n_ip / Σ_q n_iq θ_q."""
    rows = files["clicks"].rows()
    n, c = Counter((i, p) for i, p, _ in rows), Counter()
    for i, p, click in rows:
        c[i, p] += click
    items, theta = {i for i, _ in n}, {1: 1.0, 2: 1.0, 3: 1.0}
    for _ in range(300):
        total = {i: sum(c[i, p] for p in theta) / sum(n[i, p] * theta[p] for p in theta) for i in items}
        theta = {p: sum(c[i, p] for i in items) / sum(total[i] * n[i, p] for i in items) for p in theta}
    return lambda user, item, position, chance: theta[position] / max(theta.values())


SOURCES = {
    "given.csv": (by_table, lambda f: f["given"]),
    "column:chance": (by_column, lambda f: tv.Propensity.column(f["test"], "chance")),
    "popularity:0.5": (by_popularity, lambda f: tv.Propensity.popularity(f["train"], gamma=0.5)),
    "display_share:displays.csv": (by_display, lambda f: tv.Propensity.display_share(f["displays"])),
    "position_model:clicks.csv": (by_model, lambda f: tv.Propensity.position(f["clicks"])),
    "randomised:clicks.csv": (by_slice, lambda f: tv.Propensity.randomised(f["clicks"])),
}


def value(trueval, folder, source, *more) -> float:
    ran = trueval(
        "evaluate", folder / "recs.csv", "--test", folder / "test.csv", "--train", folder / "train.csv", "--metrics",
        METRIC, "--interval", "none", "--format", "json", "--propensity", source, *more,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["systems"]["recs"]["metrics"][METRIC]["value"]


def in_folder(source: str, folder) -> str:
    kind, colon, file = source.rpartition(":")
    return f"{kind}{colon}{folder / file}" if file.endswith(".csv") else source


@pytest.mark.parametrize("source", SOURCES)
def test_the_command_python_and_the_formula_agree(trueval, shop, source):
    folder, files = shop
    chances, made = SOURCES[source]
    found = value(trueval, folder, in_folder(source, folder))
    assert found == pytest.approx(naive(files, chances(files)), rel=1e-6)
    in_python = tv.evaluate_run(
        files["recs"], files["test"], train=files["train"], metrics=METRIC, propensity=made(files), interval="none"
    )
    assert found == in_python["run", METRIC].value
    plain = naive(files, lambda *row: 1.0)
    assert abs(found - plain) > 1e-4  # else a source that is not read would pass


@pytest.mark.parametrize("suffix", [".parquet", ".tsv", ".jsonl"])
def test_other_formats_and_names_of_columns(trueval, shop, suffix):
    folder, files = shop
    writers = {".parquet": "write_parquet", ".tsv": "write_csv", ".jsonl": "write_ndjson"}
    extra = {"separator": "\t"} if suffix == ".tsv" else {}
    renamed = {
        "clicks": files["clicks"].rename({"item": "sku", "position": "slot", "click": "clicked"}),
        "displays": files["displays"].group_by("item").len("impressions").sort("item").rename({"item": "itemId"}),
        "given": files["given"].rename({"item": "product_id", "p": "propensity"}).with_columns(note=pl.lit("x")),
    }
    for name, table in renamed.items():
        getattr(table, writers[suffix])(folder / f"{name}{suffix}", **extra)
    for source in SOURCES:
        if ".csv" in source:
            written = in_folder(source, folder)
            assert value(trueval, folder, written.replace(".csv", suffix)) == value(trueval, folder, written), source


def test_named_columns_hold_for_the_file_of_propensities_too(trueval, shop):
    folder, files = shop
    for name in ("test", "train", "recs", "given"):
        files[name].rename({"item": "thing"}).write_csv(folder / f"{name}.csv")
    found = value(trueval, folder, folder / "given.csv", "--columns", "item=thing")
    assert found == pytest.approx(naive(files, by_table(files)))


def test_integer_ids_and_another_name_for_the_position_of_the_test(trueval, shop):
    folder, files = shop
    code = pl.col("item").str.slice(1).cast(pl.Int64)
    for name in ("test", "train", "recs", "given", "clicks"):
        table = files[name].with_columns(code)
        (table.rename({"position": "slot"}) if name == "test" else table).write_csv(folder / f"{name}.csv")
    assert value(trueval, folder, folder / "given.csv") == pytest.approx(naive(files, by_table(files)))
    assert value(trueval, folder, f"randomised:{folder / 'clicks.csv'}") == pytest.approx(naive(files, by_slice(files)))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nothing.csv", ["propensities cannot be read from this", "display_share:FILE"]),
        ("displayshare:displays.csv", ["did you mean display_share?"]),
        ("display_share", ["display_share needs the name of a file", "displays.csv"]),
        ("column:", ["column needs the name of a column"]),
        ("column:q", ["no propensity column 'q'"]),
        ("position_model:no.csv", ["no such file"]),
        ("position_model:displays.csv", ["there is no position column"]),
        ("randomised:given.csv", ["there is no position column"]),
        ("display_share:slots.csv", ["there is no item column"]),
        ("slots.csv", ["a table of propensities needs p"]),
        ("popularity:x", ["gamma must be a number"]),
        ("strange.csv", ["rows have no propensity"]),
        ("numbers.csv", ["item ids are of different types"]),
        ("words.csv", ["propensities must be numbers"]),
        ("twice.csv", ["more than one column looks like the p"]),
        ("empty.csv", ["empty"]),
    ],
)
def test_bad_sources_are_refused_with_what_to_do(trueval, shop, source, words):
    folder, _ = shop
    texts = {
        "slots.csv": "slot,click\n1,0\n", "strange.csv": "item,p\nnew,0.5\n", "numbers.csv": "item,p\n1,0.5\n",
        "words.csv": "item,p\ni1,often\n", "twice.csv": "item,prob,chance\ni1,0.5,0.5\n", "empty.csv": "item,p\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
    ran = trueval(
        "evaluate", folder / "recs.csv", "--test", folder / "test.csv", "--train", folder / "train.csv", "--metrics",
        METRIC, "--propensity", in_folder(source, folder),
    )  # fmt: skip
    assert (ran.code, ran.out) == (2, "")
    for word in words:
        assert word in ran.err
    assert "do:" in ran.err


def test_popularity_asks_for_the_train_log(trueval, shop):
    folder, _ = shop
    ran = trueval(
        "evaluate", folder / "recs.csv", "--test", folder / "test.csv", "--metrics", METRIC, "--propensity",
        "popularity:1",
    )  # fmt: skip
    assert ran.code == 2
    assert "--train FILE" in ran.err


def test_experiments_take_the_same_words_with_paths_beside_the_file(trueval, shop):
    folder, files = shop
    log = pl.concat([files["train"].select("user", "item"), files["test"].select("user", "item")])
    log.write_csv(folder / "log.csv")

    def ran(source):
        (folder / "study.toml").write_text(
            f'[data]\npath = "log.csv"\n[split]\nhow = "holdout"\nratio = 0.3\n[evaluation]\ndesigns = ["AR-AI-AN"]\n'
            f'metrics = ["{METRIC}"]\ninterval = "none"\npropensity = "{source}"\n[systems]\npopularity = {{}}\n'
        )
        return trueval("run", folder / "study.toml", "-o", folder / "out", "--quiet", "--resume")

    for source, table in (("given.csv", "given"), ("display_share:displays.csv", "displays")):
        found = ran(source)
        assert found.code == 0, found.err
        summary = json.loads((folder / "out" / "summary.json").read_text())
        given = files[table] if table == "given" else tv.Propensity.display_share(files[table])
        parts = tv.split(log, "holdout", ratio=0.3)
        expected = tv.evaluate(
            parts, ["popularity"], design="AR-AI-AN", metrics=METRIC, interval="none", propensity=given
        )
        assert json.dumps(expected["popularity", METRIC].value) in json.dumps(summary)
    for source in ("none.csv", "randomised:none.csv"):
        wrong = ran(source)
        assert wrong.code == 2
        assert "[evaluation] propensity" in wrong.err


def test_a_position_where_everything_was_clicked_is_not_known_exactly():
    clicks = pl.DataFrame({"position": [1, 1, 1, 2, 2, 2], "click": [1, 1, 1, 1, 1, 1]})
    found = tv.Propensity.randomised(clicks)
    assert found.errors["error"].to_list()[1] > 0.2
    assert "too few clicks" in found.notes[0]
