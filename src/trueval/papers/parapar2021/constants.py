"""Choices of the paper (§5.2), and those that it leaves open, that several figures share."""

from __future__ import annotations

from typing import NamedTuple

TEST_SHARE = 0.2
DEPTH = 100  # of rankings whose ends are swapped: fifty swaps need so many places
CUTOFFS = (10, 100)
BETAS = (0.1, 0.3, 0.5, 0.7, 0.9)

ENDS, REDUNDANT, ASPECTS = "bottom-to-top swaps", "redundant aspect", "swapped aspects"


class MetricForm(NamedTuple):
    """A metric as the experiments use it: its name in the paper and its text, `{k}` standing for the cutoff.

    `rated` is for metrics whose aspects to cover are those of the user's rated items, not those of the catalogue.
    """

    name: str
    text: str
    rated: bool = False


AB_NDCG = "αβ-nDCG"
METRICS = (
    MetricForm("α-nDCG", "alpha_ndcg@{k}[gain=probabilistic]"),
    MetricForm("S-Recall", "srecall@{k}", rated=True),
    MetricForm("S-RR", "srr@{k}", rated=True),
    MetricForm("NRBP", "nrbp[alpha=0.25,beta=0.9,gain=probabilistic]"),
    MetricForm("EU", "eu@{k}[alpha=0.25,e=0.05,gain=probabilistic,profile=test]"),
    MetricForm("RBU", "rbu@{k}[p=0.99,e=0.05,profile=test]"),
    MetricForm(AB_NDCG, "abndcg@{k}[alpha=0.005,beta=0.5,profile=test]"),
)
SUBTOPIC = ("S-Recall", "S-RR")
