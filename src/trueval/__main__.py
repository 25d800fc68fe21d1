"""`python -m trueval`."""

from trueval.cli import main

main()
