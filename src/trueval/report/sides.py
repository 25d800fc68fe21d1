"""The two tests of a result, where there are two."""

UNBIASED, OBSERVED = "unbiased", "observed"
TITLES = {UNBIASED: "Unbiased test", OBSERVED: "Observed: held out of the biased log"}
