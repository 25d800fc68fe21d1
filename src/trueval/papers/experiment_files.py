"""Experiment files that belong to papers: what they say, as text for the reader and as a mapping for `tv.run`."""

from __future__ import annotations

from importlib import resources


def experiment_text(name: str) -> str:
    """The text of an experiment file.

    >>> "[systems]" in experiment_text("bellogin2017-holdout")
    True
    """
    return (resources.files("trueval.papers") / "experiments" / f"{name}.toml").read_text(encoding="utf-8")
