"""Models of a score as an inner product of a user's and an item's factors, and their linear kin."""
