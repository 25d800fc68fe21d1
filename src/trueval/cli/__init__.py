"""The command line: one file per command. Results on standard output, everything else on standard error."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
from typing import NoReturn

# What scripts can rely on. 2: the input, the options or the place to write to were refused, and nothing was written.
# 70: a defect of trueval (EX_SOFTWARE of sysexits.h).
REFUSED, DEFECT, STOPPED = 2, 70, 130
_ADDRESSES = 16 * 10**8  # bytes that polars, numba and their threads reserve
_NEW_OBJECTS = 100_000  # between two searches for garbage; Python's own number makes imports half as long again


def run() -> NoReturn:
    """Run `trueval`, and end the process.

    What was registered to be done at the end is done; but the interpreter with all that it has imported is not taken
    down piece by piece, which would take a tenth of a small evaluation.
    """
    gc.set_threshold(_NEW_OBJECTS)
    try:
        main()
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def main() -> None:
    """Run `trueval`. Whatever goes wrong is one readable message; `--debug` shows the traceback as well."""
    from trueval.errors import TruevalError

    debug = _take_debug()
    _prepare_streams()
    try:
        _check_address_space()
        from trueval.cli.ahead import begin_reading

        begin_reading(sys.argv[1:])
        from trueval.cli.app import make_app

        stream = sys.stdout
        try:
            make_app(sys.argv[1:])(standalone_mode=True)
        except SystemExit:
            if sys.stdout is not stream:  # which click does where it finds the pipe closed, and ends with 1
                raise BrokenPipeError from None
            raise
        finally:
            sys.stdout.flush()  # here, where a full disk or a closed pipe can still be told
    except TruevalError as error:
        _stop(f"error: {error}", REFUSED, debug=debug)
    except KeyboardInterrupt:
        _stop("stopped", STOPPED, debug=debug)
    except BrokenPipeError:  # the reader of our output has left, as `head` does: nothing is wrong with our work
        _discard_output()
        sys.exit(0)
    except MemoryError as error:
        _stop(f"error: {_out_of_memory(error)}", REFUSED, debug=debug)
    except SystemExit:
        raise
    except BaseException as error:  # also a panic of polars, which is no Exception
        from trueval.cli.unexpected import describe_unexpected

        text, code = describe_unexpected(error)
        _stop(text, code, debug=debug)


def _check_address_space() -> None:
    """Refuse a limit (ulimit -v) below what libraries reserve when they are loaded: one of them would abort."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < _ADDRESSES:
        from trueval.errors import DataError

        raise DataError(
            "the limit of address space is too low", where="ulimit -v", found=f"{limit / 1e9:.1f} GB",
            do=f"allow {_ADDRESSES / 1e9:.1f} GB or more: libraries reserve addresses that they do not use. Memory in "
            "use\nis limited by ulimit -d or a control group",
        )  # fmt: skip


def _prepare_streams() -> None:
    """Streams that take all we write: also where they are closed, or their encoding lacks a character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # for good
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _take_debug() -> bool:
    """Whether `--debug` stands anywhere among the options, where it is then removed."""
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    if "--debug" not in sys.argv[1:end]:
        return bool(os.environ.get("TRUEVAL_DEBUG"))
    sys.argv = [word for place, word in enumerate(sys.argv) if word != "--debug" or not 0 < place < end]
    return True


def _stop(text: str, code: int, *, debug: bool) -> None:
    """Print the message, after the traceback where it is asked for, and end with the code."""
    try:
        if debug:
            import traceback

            traceback.print_exc()
        from trueval.errors import visible

        print(visible(text), file=sys.stderr, flush=True)
    except OSError:  # nobody can read it; the code still tells
        pass
    _discard_output()
    sys.exit(code)


def _discard_output() -> None:
    """Let nothing that could not be written fail once more when Python ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _out_of_memory(error: MemoryError) -> str:
    from trueval.errors import TruevalError

    do = "sort the run by user and add --sorted-by-user, leave columns out, or use fewer threads or a larger machine"
    return str(TruevalError("not enough memory", found=str(error), do=do))
