"""Data quality: what the lists and the judgements look like."""
