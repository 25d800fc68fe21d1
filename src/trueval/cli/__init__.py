"""The command line: one file per command. Results on standard output, everything else on standard error."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run `trueval`. A mistake of the user's is one readable message and exit code 2, never a traceback."""
    from trueval.errors import TruevalError

    try:
        from trueval.cli.app import make_app

        make_app()(standalone_mode=True)
    except TruevalError as error:
        _say(f"error: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        _say("stopped")
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        _say("error: not enough memory\n  do:    sort the run by user and add --sorted-by-user, or use fewer threads")
        sys.exit(1)


def _say(text: str) -> None:
    from trueval.errors import visible

    print(visible(text), file=sys.stderr)
