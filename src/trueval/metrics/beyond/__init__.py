"""Beyond accuracy: novelty, diversity, coverage, concentration."""
