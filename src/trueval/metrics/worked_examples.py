"""Worked examples of metrics with parameters or transforms, whose docstrings show the plain metric alone."""

from __future__ import annotations

from typing import Any

from trueval.metrics.spec import Spec

RANKED = ["A", "B", "C", "D", "E"]
JUDGED = {"A": 0, "B": 1, "C": 3, "D": 0, "E": 2, "G": 1}
POSITIVES = {"A": 1, "B": 4, "C": 9, "D": 2, "E": 1, "G": 16}
PROPENSITY = {"B": 0.5, "C": 0.8, "E": 0.2, "G": 0.4}
FEATURES = {"A": [1, 0], "B": [1, 1], "C": [0, 1], "D": [1, 0], "E": [0, 2], "G": [1, 3]}
ASPECTS = {"A": "drama", "B": "drama|war", "C": "war", "D": "noir", "E": "noir|war", "G": "drama"}
PROFILE = {"F": 4, "H": 2}  # the user's train items, and what is known of them
FEATURES_OF_PROFILE = {"F": [1, 2], "H": [3, 1]}
ASPECTS_OF_PROFILE = {"F": "drama|noir", "H": "war"}
TRAIN_USERS = {**POSITIVES, "F": 3, "H": 7}


def worked_example(spec: Spec) -> tuple[str, float]:
    """A call that computes the metric of one list, as text, and the value that it returns.

    >>> from trueval.metrics.grammar import parse
    >>> call, value = worked_example(parse("anti(recall)@5"))
    >>> print(call)
    measure("anti(recall)@5", ['A', 'B', 'C', 'D', 'E'], {'A': 0, 'B': 1, 'C': 3, 'D': 0, 'E': 2, 'G': 1})
    >>> value
    1.0
    """
    if spec.metric.of_ratings:
        from trueval.metrics.errors.rating_errors import rating_error

        pairs = [4, 2, 5, 3], [5, 2, 3, 3]
        users = ["u", "u", "u", "v"]
        words = ", ".join(map(str, pairs))
        return f'rating_error("{spec}", {words}, users={users})', rating_error(str(spec), *pairs, users=users)
    from trueval.metrics.measure import measure

    given = _inputs(spec)
    ranked = [*RANKED, "F", "G"] if spec.metric.exact else RANKED
    words = ", ".join([f'"{spec}"', str(ranked), str(JUDGED), *(f"{name}={value}" for name, value in given.items())])
    return f"measure({words})", measure(spec, ranked, JUDGED, **given)


def _inputs(spec: Spec) -> dict[str, Any]:
    """What the metric needs beside the list and the judgements."""
    needs = {*spec.metric.needs}
    owns = bool(needs & {"train", "interest"})
    given: dict[str, Any] = {"complete": True} if spec.metric.exact else {}
    if "positives" in needs:
        given["popularity"] = POSITIVES
    elif spec.parameters.get("gamma") or (spec.parameters.get("beta") and "positives" in spec.metric.wants):
        given["positives"] = POSITIVES
    if "popularity" in needs:
        given |= {"popularity": TRAIN_USERS, "users": 20}
    if "features" in needs:
        given["features"] = {**FEATURES, **(FEATURES_OF_PROFILE if owns else {})}
    if "aspects" in needs:
        given["aspects"] = {**ASPECTS, **(ASPECTS_OF_PROFILE if owns else {})}
    if owns:
        given["profile"] = PROFILE
    if {"ips", "snips"} & set(spec.transforms):
        given["propensity"] = PROPENSITY
    return given
