"""`python -m trueval.cli`."""

from trueval.cli import main

main()
