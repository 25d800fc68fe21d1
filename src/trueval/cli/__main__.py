"""`python -m trueval.cli`."""

from trueval.cli import run

run()
