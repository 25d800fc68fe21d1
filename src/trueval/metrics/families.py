"""Families of metrics: what those of one family have in common, where their own record does not say otherwise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """A family: its title, and the defaults of its metrics' records (see `registry.Metric` for what they mean)."""

    title: str
    ties: str = "order"  # the most careful, for metrics of lists
    no_chance: str = ""
    looks_for: str = ""
    one_relevant: bool = False
    transformed: bool = False
    of_ratings: bool = False  # it compares predicted ratings with ratings, and ranks nothing
    of_lists: bool = False  # it looks at lists alone, and not at what is missing from them
    measures: str = ""  # "accuracy" or "beyond": the side of a trade-off that it stands for


FAMILIES = {
    "accuracy": Family(
        "Top-k accuracy: are the relevant items near the top?",
        ties="judged", looks_for="relevant", one_relevant=True, transformed=True,
        measures="accuracy",
    ),
    "false_positives": Family(
        "False positives: does the list contain items the user is known to dislike?",
        ties="judged", looks_for="not relevant",
    ),
    "incomplete": Family(
        "Incomplete judgements: accuracy where most items were never judged", ties="judged", looks_for="relevant",
        measures="accuracy",
    ),
    "aspects": Family(
        "Aspect diversity: does the list cover what the user is interested in?", measures="beyond",
        no_chance="it depends on how aspects combine in the targets, and no formula is known",
    ),
    "errors": Family(
        "Rating error: how far are predictions from ratings?",
        ties="judged", looks_for="judged", no_chance="predicted ratings are not a ranking", of_ratings=True,
        measures="accuracy",
    ),
    "beyond": Family(
        "Beyond accuracy: novelty, diversity, coverage, concentration", of_lists=True, measures="beyond",
        no_chance="it is about other qualities than accuracy, and random lists may well have them",
    ),
    "quality": Family(
        "Data quality: what the lists and the judgements look like", of_lists=True,
        no_chance="it describes the lists and the judgements",
    ),
}  # fmt: skip
