"""Run the examples of a page and put in what they print, so that no page shows output that nobody saw.

A page is Markdown. Blocks between fences are treated by the word in braces after the fence:

- `{run}`: commands, run one after the other; the page shows each with its output. `{run} fails` expects exit code 2
  and shows the message; `{run} exits=3` expects that code; `{run} lines=20` shows only the first lines.
- `{py}`: Python, run in the namespace of the page; the page shows it with what it prints.
- `{chart}`: a Python expression that makes a chart, which the page shows instead of the code; `dots` (`page_charts.py`)
  is known there.
- `{check}`: Python that the page does not show: assertions that what the sentences say of the output is true.
- `{write} NAME`: a file that is written for later blocks, and shown.
- `{generated} WORD...`: text made from the registries (`generated_text.py`).

Blocks with `>>>` are doctests of the page. Everything runs in a folder of the page's own. The first example that fails
stops the build.
"""

from __future__ import annotations

import contextlib
import doctest
import glob
import html
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from generated_text import generate
from page_charts import dots, figure

ROOT = Path(__file__).parents[2]
WIDTH = 96  # columns of the terminal that commands write to: what fits into a page
_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$\n?", re.M | re.S)
_STYLE = re.compile(r"\x1b\[([0-9;]*)m")
_TERMINAL = {"COLUMNS": str(WIDTH), "TERM": "xterm-256color"}


class ExampleError(Exception):
    """An example of a page fails."""


class _Screen(io.StringIO):
    """What commands take for a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass
class Page:
    """The folder and the namespace in which the examples of one page run."""

    name: str
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "example"})
    charts: int = 0  # shown so far

    def expand(self, text: str) -> str:
        """The page with its examples run."""
        text = _FENCE.sub(self._generated, text)
        return _FENCE.sub(self._block, text)

    def _generated(self, found: re.Match[str]) -> str:
        words = found["info"].split()
        return generate(words[1:]) if words[:1] == ["{generated}"] else found[0]

    def _block(self, found: re.Match[str]) -> str:
        kind, *options = found["info"].split() or [""]
        body = found["body"]
        if kind == "{run}":
            return self._commands(body, options)
        if kind == "{py}":
            return self._python(body)
        if kind == "{chart}":
            return self._chart(body)
        if kind == "{check}":
            self._python(body)
            return ""
        if kind == "{write}":
            path = self.folder / options[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
            language = {".toml": "toml", ".py": "python"}.get(path.suffix, "text")
            return f"```{{code-block}} {language}\n:caption: {options[0]}\n\n{body}```\n"
        if ">>> " in body:
            self._doctest(body)
            return f"```pycon\n{body}```\n"
        return found[0]

    def _commands(self, body: str, options: list[str]) -> str:
        numbers = {name: int(value) for name, equals, value in (o.partition("=") for o in options) if equals}
        most, wanted = numbers.get("lines"), 2 if "fails" in options else numbers.get("exits", 0)
        shown = []
        for command in re.split(r"(?<!\\)\n", body.strip()):
            out, err, code = self._command(command)
            if code != wanted:
                raise ExampleError(f"{self.name}: `{command}` ended with {code}, not {wanted}\n{out}\n{err}")
            lines = (out + err if wanted == 2 else out).rstrip().splitlines()
            if most is not None and len(lines) > most:
                lines = [*lines[:most], "…"]
            shown += [f"\x1b[1m$ {wrapped(command)}\x1b[0m", *lines, ""]
        return as_html(shown)

    def _command(self, command: str) -> tuple[str, str, int]:
        words = shlex.split(command.replace("\\\n", " "))
        if words[0] != "trueval":
            raise ExampleError(f"{self.name}: only trueval is run, not {words[0]}")
        arguments = [one for word in words for one in self._globbed(word)]
        out, err = _Screen(), io.StringIO()
        with self.here(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = _call(arguments)
        return out.getvalue(), err.getvalue(), code

    def _globbed(self, word: str) -> list[str]:
        with self.here():
            return sorted(glob.glob(word)) or [word] if "*" in word else [word]

    def _python(self, body: str) -> str:
        out = _Screen()
        with self.here(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(body, f"<{self.name}>", "exec"), self.names)
            except Exception as error:
                raise ExampleError(f"{self.name}: {type(error).__name__}: {error}\n{body}") from error
        printed = out.getvalue().rstrip()
        return f"```python\n{body}```\n" + (f"\n{as_html(printed.splitlines())}" if printed else "")

    def _chart(self, body: str) -> str:
        self.charts += 1
        with self.here():
            try:
                return figure(
                    eval(compile(body.strip(), f"<{self.name}>", "eval"), {**self.names, "dots": dots}), self.charts
                )
            except Exception as error:
                raise ExampleError(f"{self.name}: {type(error).__name__}: {error}\n{body}") from error

    def _doctest(self, body: str) -> None:
        test = doctest.DocTestParser().get_doctest(body, self.names, self.name, None, 0)
        said = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        with self.here():
            runner.run(test, out=said.write, clear_globs=False)
        self.names = test.globs
        if runner.failures:
            raise ExampleError(f"{self.name}:\n{said.getvalue()}")

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Be in the folder of the page, before a terminal of a known width."""
        before, environment = Path.cwd(), dict(os.environ)
        os.chdir(self.folder)
        os.environ.update(_TERMINAL)
        os.environ.pop("NO_COLOR", None)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


def wrapped(command: str) -> str:
    r"""A command, broken between words so that it fits the page.

    >>> wrapped('trueval evaluate ' + 'recs.parquet ' * 5 + '--metrics "ndcg@10, recall@10"').count(chr(92))
    1
    """
    lines, words = [""], re.findall(r'(?:[^\s"]|"[^"]*")+', command.replace("\\\n", " "))
    units: list[str] = []
    for word in words:  # an option and its value stay together
        if units and re.fullmatch(r"--?[a-z-]+", units[-1]) and not word.startswith("-"):
            units[-1] += f" {word}"
        else:
            units.append(word)
    for word in units:
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH - 6:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def as_html(lines: list[str]) -> str:
    """What a terminal shows, as a block of HTML: bold stays bold, colours are left to the page.

    >>> as_html(["\\x1b[1ma\\x1b[0m < b"]).split("\\n")[1]
    '<div class="highlight"><pre><strong>a</strong> &lt; b'
    """
    text, bold, made = "\n".join(lines).rstrip() + "\n", False, []
    for place, piece in enumerate(_STYLE.split(text)):
        if place % 2:
            bold = "1" in piece.split(";") or (bold and not {"", "0", "22"} & set(piece.split(";")))
        elif piece:
            plain = html.escape(piece, quote=False)
            made.append(f"<strong>{plain}</strong>" if bold else plain)
    body = re.sub(r"</strong>(\s*)<strong>", r"\1", "".join(made))
    return f'```{{raw}} html\n<div class="highlight"><pre>{body}</pre></div>\n```\n'


def _call(arguments: list[str]) -> int:
    """Run `trueval` in this process, which is faster than starting one for each command."""
    from trueval.cli import main
    from trueval.progress import set_quiet

    before, sys.argv = sys.argv, arguments
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    finally:
        sys.argv = before
        set_quiet(False)
    return 0


class Site:
    """The folders of all pages; those that use the files of `trueval demo` get a copy."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="trueval-docs-"))

    def expand(self, name: str, text: str) -> str:
        """A page with its examples run."""
        folder = self._folder / name.replace("/", "-")
        folder.mkdir(exist_ok=True)
        if "demo-output/" in text and not (folder / "demo-output").exists():
            shutil.copytree(self._demo(), folder / "demo-output")
        return Page(name, folder).expand(text)

    def _demo(self) -> Path:
        folder = self._folder / "demo-output"
        if not folder.exists():
            page = Page("the demo", self._folder)
            page.expand("```{run}\ntrueval demo -o demo-output --quiet\n```\n")
        return folder

    def close(self) -> None:
        """Remove the folders."""
        shutil.rmtree(self._folder, ignore_errors=True)
