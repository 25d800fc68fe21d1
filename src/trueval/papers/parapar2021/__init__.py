"""Parapar and Radlinski (2021): a unified metric of accuracy and diversity, αβ-nDCG."""
