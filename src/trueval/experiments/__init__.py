"""Experiments: one file says what is read, split, ranked, measured and compared; a folder holds what was found."""
