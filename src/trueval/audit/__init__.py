"""Can the number be trusted? Checks of data, split, lists and comparisons, with their effect on the reader's metric."""
