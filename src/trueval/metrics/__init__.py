"""How good, for each user: grammar, registry, and one file per metric."""
