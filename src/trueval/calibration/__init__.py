"""Whether predicted probabilities mean what they say: pointwise metrics, reliability, and calibrators that mend it."""
