"""Steck (2011): item popularity and recommendation accuracy."""
