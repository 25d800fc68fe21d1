"""The files that trueval demo writes: tables to go on with, results, and the report."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from trueval.cli.demo_run import BASELINE, CUTOFF, SYSTEMS, THRESHOLD, Demo, truth_sentences
from trueval.render.html_elements import Bar, Section
from trueval.render.numbers import percent, short_percent
from trueval.report.findings import findings, values
from trueval.report.folder import Content
from trueval.report.html_page import html_page
from trueval.report.html_result import data_sentence
from trueval.report.origin import Origin
from trueval.report.result_table import write_result_table
from trueval.splits.leakage import leakage

_TABLES = ("log", "users", "items", "train", "test", "per_user")


def file_names() -> list[str]:
    """Names of all files, known before any is made.

    >>> file_names()[:2], file_names()[-1]
    (['log.parquet', 'users.parquet'], 'report.html')
    """
    tables = [*_TABLES, *(f"recs/{name}" for name in SYSTEMS)]
    return [*(f"{name}.parquet" for name in tables), "results.json", "report.html"]


def demo_files(demo: Demo, output: Path) -> dict[str, Content]:
    """What goes into each file."""
    log = demo.world.log
    frames = (log.frame, log.users, log.items, demo.parts.train.frame, demo.parts.test.frame, demo.result.per_user)
    tables = dict(zip(_TABLES, frames)) | {f"recs/{name}": demo.recs[name] for name in SYSTEMS}
    files: dict[str, Content] = {
        f"{name}.parquet": _parquet(frame) for name, frame in tables.items() if frame is not None
    }
    files["per_user.parquet"] = lambda path: write_result_table(demo.result.evaluation, path)
    files["results.json"] = demo.result.to_json(baseline=BASELINE) + "\n"
    files["report.html"] = demo_page(demo, output)
    return files


def _parquet(frame: pl.DataFrame) -> Callable[[Path], Any]:
    return lambda path: frame.write_parquet(path)


def demo_page(demo: Demo, output: Path) -> str:
    """The report."""
    evaluation, comparisons = demo.result.evaluation, demo.result.compare(BASELINE)
    lead = (
        "Four systems in a synthetic world, where it is known what every user truly likes. Three of them know nothing "
        "about individual users; the oracle knows everybody's taste, so no system can truly be better."
    )
    return html_page(
        evaluation,
        comparisons=comparisons,
        title="What a test set shows, and what it misses",
        lead=lead,
        about=Origin(f"trueval demo -o {shlex.quote(str(output))}").about(data_sentence(evaluation)),
        notes=[*findings(evaluation, comparisons), *truth_sentences(demo)],
        sections=[_truth(demo), _data(demo), _leaks(demo), _next(output)],
    )


def _truth(demo: Demo) -> Section:
    measured = values(demo.result.evaluation, f"precision@{CUTOFF}")
    rows: list[list[str | Bar]] = [
        [name, Bar(measured[name], f"{measured[name]:.3f}"), Bar(true, f"{true:.3f}", strong=True)]
        for name, true in sorted(demo.true.items(), key=lambda pair: -pair[1])
    ]
    text = (
        f"Precision@{CUTOFF} as measured on the test set, and its true value: the share of the first {CUTOFF} that the "
        f"user would rate {THRESHOLD} or more, rated or not. No real data set has the last column."
    )
    return Section("Measured and true", [text], columns=["system", "measured", "true"], rows=rows)


def _data(demo: Demo) -> Section:
    log, report = demo.world.log, demo.parts.report()
    counts = log.frame["item"].value_counts()["count"].sort(descending=True)
    head = counts.head(max(1, log.n_items // 10)).sum() / len(log)
    tiles = [
        (f"{log.n_users:,}", "users"),
        (f"{log.n_items:,}", "items"),
        (f"{len(log):,}", "ratings"),
        (short_percent(len(log) / (log.n_users * log.n_items)), "of all pairs rated"),
        (short_percent(float(head)), "of ratings on the top tenth of items"),
        (f"{log.frame['value'].to_numpy().mean():.2f}", "mean rating, of 5"),
    ]
    dropped = f" {report['dropped']:,} later ratings of users or items without history were dropped."
    text = (
        f"The first {short_percent(report['train'] / report['rows'])} of the log, by time, are for learning: "
        f"{report['train']:,} ratings. {report['test']:,} later ones are the test set."
    )
    return Section("The data", [text + (dropped if report["dropped"] else "")], tiles=tiles)


def _leaks(demo: Demo) -> Section:
    found = leakage(demo.parts)
    rows = [
        [
            check.verdict,
            check.meaning,
            "" if check.count is None else f"{check.count:,}",
            "" if check.share is None else percent(check.share, 2),
        ]
        for check in found.checks
    ]
    text = {
        "ok": "The systems know nothing of the test set: the split is clean.",
        "caution": "Look at the cautions below before you trust the numbers.",
        "wrong": "The systems know parts of the test set: the numbers above are too good.",
    }[found.verdict]
    return Section("Leakage", [text], columns=["verdict", "check", "found", "share"], rows=rows)


def _next(output: Path) -> Section:
    return Section(
        "Next steps", ["Every stage reads and writes files, so any of them can be yours."], code=next_commands(output)
    )


def next_commands(output: Path) -> str:
    """Commands that go on from the written files, broken so that they fit 80 columns.

    >>> print(next_commands(Path("my demo")).splitlines()[1])
    trueval evaluate 'my demo'/recs/*.parquet \\
    """
    folder = shlex.quote(str(output))
    return f"""\
# measure the same lists again, with other metrics
trueval evaluate {folder}/recs/*.parquet \\
    --test {folder}/test.parquet --train {folder}/train.parquet \\
    --items {folder}/items.parquet --threshold {THRESHOLD} --baseline {BASELINE} \\
    --metrics "ap@10,rr,hit@10,popularity_rank@10,epc@10"

# compare the systems by another test
trueval compare {folder}/per_user.parquet --baseline {BASELINE} \\
    --test permutation

# what a metric means, exactly
trueval metrics ndcg

# look at the log, split it another way
trueval data info {folder}/log.parquet
trueval split {folder}/log.parquet --how leave_one_out -o {folder}/split
"""
