"""A process that runs one command after the other, as `trueval` would, and says how each ended.

Standard input: a JSON list of folder and words on each line. Standard output: a JSON record on each line.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import traceback
from typing import IO, Any

MEMORY = 8 * 2**30  # a command that asks for more gets an error, and the machine goes on


def run(words: list[str], out: IO[bytes], err: IO[bytes]) -> dict[str, Any]:
    """Run one command in this process; its output goes to the two files."""
    from trueval.cli import main
    from trueval.progress import set_quiet

    sys.argv = ["trueval", *words]
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    code, escaped = 0, ""
    try:
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:  # also a panic of polars
        code, escaped = -1, traceback.format_exc()
    finally:
        set_quiet(False)
        sys.stdout.flush()
        sys.stderr.flush()
    return {"code": code, "escaped": escaped}


def serve() -> None:
    """Answer until the input ends."""
    import trueval.cli.app  # noqa: F401  # once, for all commands

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        folder, words = json.loads(line)
        os.chdir(folder)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            record = run(words, out, err)
            for name, file in (("out", out), ("err", err)):
                file.seek(0)
                record[name] = file.read(100_000).decode("utf-8", "replace")
        os.chdir("/")
        print(json.dumps(record), file=answers, flush=True)


if __name__ == "__main__":
    serve()
