"""Good inputs of every command, small, as frames and text: what the fuzzer then spoils."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import polars as pl

EXPERIMENT = """\
[data]
path = "log.csv"
threshold = 3
[split]
how = "holdout"
ratio = 0.3
seeds = [1]
[evaluation]
designs = ["AR-TI-AN", "1R-TI-NN3"]
metrics = ["ndcg@3", "precision@2"]
baseline = "popularity"
resamples = 50
[systems]
popularity = {}
random = {}
average = {}
"""

STUDY = """\
[study]
title = "Lists"
form = "rank"
participants = 12
seed = 1
[data]
path = "log.csv"
items = "items.csv"
[information]
text = "About this study"
[ratings]
least = 2
scale = [1, 2, 3, 4, 5]
popular = 0.5
page = 4
[lists]
length = 3
visible = 2
[rank]
question = "Which one?"
ties = true
[checks]
random = true
[systems]
popularity = {}
random = {}
"""
INVITED = STUDY.replace("popularity = {}", 'ours = { run = "recs.csv" }').replace("least = 2", "least = 0")
TEXTS = {"experiment": EXPERIMENT, "study": STUDY, "invited": INVITED}
# Commands without a scenario, and why.
LEFT_OUT = {
    "demo": "takes seconds, and reads no file",
    "data get": "fetches from other hosts",
    "study serve": "goes on until it is stopped",
}

EVALUATE = ["evaluate", "{recs}", "--test", "{test}", "--metrics", "ndcg@3,recall@2,coverage@3", "--resamples", "50"]


@dataclass(frozen=True)
class Scenario:
    """A command that works: `{name}` stands for the file of a table or text, `{out:x}` for a place to write to."""

    words: list[str]
    tables: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    results: tuple[str, ...] = ()  # names of results of an earlier evaluation, as the file of values by user
    databases: tuple[str, ...] = ()  # names of databases with answers to `STUDY`
    more: dict[str, str] = field(default_factory=dict)  # options that may be added, with good values


SCENARIOS = [
    Scenario(EVALUATE, ("recs", "test")),
    Scenario(
        [*EVALUATE, "--train", "{train}", "--items", "{items}", "--users", "{users}", "--by", "gender"],
        ("recs", "test", "train", "items", "users"),
        more={"--invalid": "miss", "--metrics": "novelty@3,ild@3,ap@3", "--columns": "user=user"},
    ),
    Scenario([*EVALUATE, "--sorted-by-user"], ("recs", "test"), more={"--invalid": "drop"}),
    Scenario([*EVALUATE, "--only-users", "{users}"], ("recs", "test", "users")),
    Scenario(
        [*EVALUATE, "-o", "{out:result}", "--per-user", "{out:users.parquet}", "--report", "{out:page.html}"],
        ("recs", "test"),
    ),
    Scenario(["split", "{log}", "--how", "holdout", "-o", "{out:parts}"], ("log",), more={"--ratio": "0.2"}),
    Scenario(["split", "{log}", "--how", "temporal", "-o", "{out:parts}"], ("log",), more={"--at": "2020-01-01"}),
    Scenario(["split", "{log}", "--how", "rolling", "-o", "{out:parts}"], ("log",), more={"--windows": "2"}),
    Scenario(["split", "{log}", "--how", "uniform_test", "-o", "{out:parts}"], ("log",), more={"--eps": "0.1"}),
    Scenario(["run", "{experiment}", "-o", "{out:experiment}"], ("log",), ("experiment",)),
    Scenario(["study", "check", "{study}", "--quiet"], ("log", "items"), ("study",)),
    Scenario(["compare", "{one}", "{two}"], results=("one", "two"), more={"--test": "permutation"}),
    Scenario(["compare", "{three}", "--agreement"], results=("three",)),
    Scenario(
        ["gate", "{one}", "{two}", "--margin", "50%"],
        results=("one", "two"),
        more={"--metrics": "ndcg@3,recall@2", "--level": "0.9", "--correct": "bh"},
    ),
    Scenario(
        ["gate", "{one}", "{two}", "--margin", "90%", "--users", "{users}", "--by", "gender", "--min-group", "2"],
        ("users",),
        results=("one", "two"),
    ),
    Scenario(
        ["audit", "--train", "{train}", "--test", "{test}", "--recs", "{recs}", "--metrics", "ndcg@3"],
        ("train", "test", "recs"),
        more={"--threshold": "3", "--relevant-change": "1%", "--missing": "drop", "--raise-on": "wrong"},
    ),
    Scenario(
        ["audit", "--train", "{train}", "--test", "{test}", "--systems", "popularity,random", "--metrics", "recall@2"],
        ("train", "test"), more={"--design": "1R-TI-AN", "-o": "{out:audit.json}"},
    ),
    Scenario(
        ["ab", "{ab}", "--arm", "arm", "--metrics", "ctr=clicks/shows,bought,amount,seconds"], ("ab",),
        more={"--pre": "past", "--where": "clicks > 1", "--report": "{out:ab.html}", "--segments": "country"},
    ),
    Scenario(["ab-plan", "--baseline", "0.1", "--effect", "0.02"]),
    Scenario(["study", "analyse", "{rankings}"], ("rankings",),
             more={"--first": "a", "--blanks": "worse", "--report": "{out:study.html}", "--resamples": "100"}),
    Scenario(["study", "analyse", "{pairs}"], ("pairs",), more={"-o": "{out:study.json}", "--level": "0.9"}),
    Scenario(["study", "analyse", "{scales}"], ("scales",), more={"-o": "{out:study.csv}", "--seed": "3"}),
    Scenario(["study", "plan", "--systems", "5", "--share", "0.4"], more={"--named": "1", "--lost": "0.1"}),
    Scenario(["ope", "{bandit}", "--target", "{policy}"], ("bandit", "policy")),
    Scenario(["calibrate", "{later}", "--validation", "{earlier}"], ("later", "earlier"),
             more={"-o": "{out:moved.csv}", "--method": "isotonic"}),
    Scenario(["simulate", "world", "--users", "20", "--items", "10", "-o", "{out:world}"],
             more={"--gamma": "0.5", "--alignment": "-0.5", "--drift": "0.2", "--ratings": "60"}),
    Scenario(["simulate", "skew", "{log}", "-o", "{out:world}"], ("log",), more={"--alpha": "1", "--c2": "3"}),
    Scenario(["simulate", "opposed", "{log}", "-o", "{out:world}"], ("log",), more={"--strength": "0.5"}),
    Scenario(["simulate", "like", "{log}", "-o", "{out:world}"], ("log",), more={"--taste": "0.2", "--liked": "0.1"}),
    Scenario(["simulate", "loop", "{log}", "--rounds", "2", "-k", "2"], ("log",),
             more={"--system": "average", "--model": "cascade", "--active": "0.5", "-o": "{out:rounds.csv}"}),
    Scenario(["track", "{train}", "{test}", "--items", "{items}"], ("train", "test", "items"),
             more={"--by": "aspects"}),
    Scenario(["track", "{log}", "--periods", "3"], ("log",), more={"-o": "{out:track.json}"}),
    Scenario(["reproduce", "steck2011", "table1", "--quick", "-o", "{out:paper}"], more={"--seed": "1"}),
    Scenario(["data", "info", "{log}"], ("log",)),
    Scenario(["designs"]),
    Scenario(["study", "new", "-o", "{out:new}"], more={"--form": "pair", "--seed": "3"}),
    Scenario(["study", "simulate", "{study}", "--participants", "3", "--database", "sqlite:///out/people.sqlite"],
             ("log", "items"), ("study",), more={"--careless": "0.5", "--leave": "0.2", "--position-bias": "1"}),
    Scenario(["study", "export", "{study}", "-o", "{out:answers}", "--database", "sqlite:///answers.sqlite"],
             ("log", "items"), ("study",), databases=("answers",), more={"--format": "csv"}),
    Scenario(["study", "analyse", "{study}", "--database", "sqlite:///answers.sqlite", "--resamples", "100"],
             ("log", "items"), ("study",), databases=("answers",), more={"--report": "{out:study.html}"}),
    Scenario(["study", "backup", "{study}", "-o", "{out:copy.sqlite}", "--database", "sqlite:///answers.sqlite"],
             ("log", "items"), ("study",), databases=("answers",)),
    Scenario(["study", "invite", "{invited}", "--address", "https://study.example.org", "-o", "{out:invited.csv}",
              "--database", "sqlite:///out/people.sqlite"], ("log", "items", "recs"), ("invited",)),
    Scenario(["data", "list"]),
    Scenario(["metrics", "ndcg"]),
    Scenario(["systems", "popularity"]),
]  # fmt: skip


@cache
def frames() -> dict[str, pl.DataFrame]:
    """The tables, by name."""
    rng = np.random.default_rng(0)
    users, items = [f"u{n}" for n in range(12)], [f"i{n}" for n in range(10)]
    pairs = [(u, i) for u in users for i in rng.choice(items, 5, replace=False).tolist()]
    recs = pl.DataFrame(pairs, schema=["user", "item"], orient="row").with_columns(score=pl.Series(rng.random(60)))
    rated = [(u, i, int(rng.integers(1, 6))) for u in users for i in rng.choice(items, 6, replace=False).tolist()]
    log = pl.DataFrame(rated, schema=["user", "item", "value"], orient="row")
    log = log.with_columns(time=pl.Series(rng.permutation(72) * 86_400 + 1_577_000_000))
    turn = np.arange(72) % 6
    ab = pl.DataFrame({
        "user": [f"v{n}" for n in range(60)], "arm": ["control", "new"] * 30, "shows": rng.integers(1, 9, 60),
        "bought": rng.integers(0, 2, 60), "amount": rng.lognormal(1, 1, 60).round(2),
        "seconds": rng.lognormal(3, 1, 60).round(1), "past": rng.random(60).round(2), "country": rng.choice(["de",
        "es", "fr"], 60),
    }).with_columns(clicks=pl.col("shows") // 2)  # fmt: skip
    shown = rng.integers(0, 4, 200)
    bandit = pl.DataFrame({
        "user": rng.integers(0, 40, 200), "item": [f"i{n}" for n in shown], "click": rng.integers(0, 2, 200),
        "propensity": [0.25] * 200,
    })  # fmt: skip
    people, lists = np.repeat([f"p{n}" for n in range(8)], 3), np.tile(["a", "b", "c"], 8)
    rankings = pl.DataFrame({
        "participant": people, "system": lists, "rank": np.concatenate([rng.permutation(3) + 1 for _ in range(8)]),
        "position": np.tile([1, 2, 3], 8),
    })  # fmt: skip
    pairs = pl.DataFrame({
        "participant": people, "task": np.tile([1, 2, 3], 8), "left": lists, "right": np.roll(lists, 1),
        "answer": rng.choice(["left", "right", "none"], 24),
    })  # fmt: skip
    scales = pl.DataFrame({"participant": people, "system": lists, "value": rng.integers(1, 6, 24), "question": "fit"})
    policy = pl.DataFrame({"item": [f"i{n}" for n in range(4)], "probability": [0.4, 0.3, 0.2, 0.1]})
    return {
        "recs": recs, "test": log.filter(pl.Series(turn >= 3)), "train": log.filter(pl.Series(turn < 3)), "log": log,
        "items": pl.DataFrame({"item": items, "aspects": ["a|b", "c"] * 5}),
        "users": pl.DataFrame({"user": users, "gender": ["f", "m", "x"] * 4}),
        "rankings": rankings, "pairs": pairs, "scales": scales,
        "ab": ab, "bandit": bandit, "policy": policy, "later": _predictions(rng), "earlier": _predictions(rng),
    }  # fmt: skip


def _predictions(rng: np.random.Generator) -> pl.DataFrame:
    p = rng.beta(1, 2, 80).round(4)
    return pl.DataFrame({"user": rng.integers(0, 15, 80), "prediction": p, "label": (rng.random(80) < p).astype(int)})
