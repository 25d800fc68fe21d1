"""The options of evaluations, declared once: defaults, what experiment files may write, and the help of commands.

Commands read it before anything else is loaded, so it imports nothing that takes time.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class DeclaredOption(NamedTuple):
    """One option. `kind` is that of its value in an experiment file ("" where its [evaluation] cannot have it)."""

    default: Any
    kind: str
    help: str = ""


OPTIONS = {
    "metrics": DeclaredOption(
        None,
        "texts",
        "Metrics to compute, separated by commas; `trueval metrics` lists them. Default: ndcg@10, recall@10 and "
        "coverage@10.",
    ),
    "population": DeclaredOption("relevant", "text", "Users to average over: relevant, judged or all."),
    "ties": DeclaredOption("random", "text", "How to rank equal scores: random, expected, worst, best or given."),
    "interval": DeclaredOption("bootstrap", "text", "Method of the confidence intervals: bootstrap, bca, t or none."),
    "level": DeclaredOption(0.95, "number", "Confidence level of the intervals."),
    "resamples": DeclaredOption(1000, "whole", "Number of resamples for bootstrap intervals."),
    "compat": DeclaredOption(
        None,
        "text",
        "Compute metrics and order ties as trec_eval, ranx, recbole, lenskit, rectools, replay, recommenders or spark.",
    ),
    "by": DeclaredOption(
        None, "texts", "Group by columns of --users or --items, or by activity, taste or popularity (with --train)."
    ),
    "min_group": DeclaredOption(30, "whole", "Smallest number of users of a group that counts for gaps and ratios."),
    "propensity": DeclaredOption(
        None,
        "text",
        "Propensities for ips(…) and snips(…): FILE (p by user, item or position), column:NAME of the test, "
        "popularity:GAMMA (needs --train), display_share:FILE (item, optionally count), position_model:FILE "
        "(item, position, click), or randomised:FILE (position, click).",
    ),
    "missing": DeclaredOption(
        "zero", "text", "How users without recommendations count: zero (as an empty list), drop or error."
    ),
    "invalid": DeclaredOption(
        "refuse",
        "text",
        "How places of lists that cannot count (items outside the catalogue, repeated items) are treated: refuse, miss "
        "(they keep their places) or drop (what is below moves up).",
    ),
    "threshold": DeclaredOption(None, "", "Items with at least this value are relevant (default: value above 0)."),
    "seed": DeclaredOption(0, "", "Random seed."),
    "users": DeclaredOption(None, "", "Table of users with columns to group by (see --by)."),
    "only_users": DeclaredOption(
        None, "any", "Evaluate only the users of this file (its user column); values are those of the same lists."
    ),
}
# Those that an experiment reads by itself, since its splits have a say in them.
_SPLIT_DEPENDENT = ("metrics", "interval", "by")


def default(name: str) -> Any:
    """The default of an option.

    >>> default("population")
    'relevant'
    """
    return OPTIONS[name].default


def help_of(name: str) -> str:
    """What a command says of an option."""
    return OPTIONS[name].help


def file_kinds() -> dict[str, str]:
    """Kinds of the options that an experiment file may write in [evaluation].

    >>> file_kinds()["resamples"]
    'whole'
    """
    return {name: option.kind for name, option in OPTIONS.items() if option.kind}


def passed_on() -> list[str]:
    """Options that an experiment file hands on as they are written.

    >>> "ties" in passed_on(), "by" in passed_on()
    (True, False)
    """
    return [name for name in file_kinds() if name not in _SPLIT_DEPENDENT]
