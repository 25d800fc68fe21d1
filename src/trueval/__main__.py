"""`python -m trueval`."""

from trueval.cli import run

run()
