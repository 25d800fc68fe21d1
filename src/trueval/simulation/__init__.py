"""Worlds whose truth is known: what is liked, what is observed, what is clicked."""
