"""Check that no built page loads anything from another host.

    python docs/_ext/check_offline.py docs/_build/html

Links that a reader may click are allowed; what a browser fetches by itself is not: scripts, styles, images, fonts,
frames, and addresses in styles. Scripts are searched for addresses that they could fetch.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

_LOADED = {"src", "srcset", "data", "poster", "action", "background", "xlink:href"}
_LINKED = {"link", "use", "image", "base"}  # tags whose href is fetched
_ELSEWHERE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.I)
_IN_STYLE = re.compile(r"""(?:url\(\s*['"]?|@import\s+['"])\s*((?:https?:)?//[^'")\s]+)""", re.I)
_IN_SCRIPT = re.compile(
    r"""(?:fetch\(|import\(|importScripts\(|\.src\s*=|\.open\(\s*["']\w+["']\s*,)\s*["'`]((?:https?:)?//[^"'`]+)""",
    re.I,
)


class _Loads(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in ("script", "style") else self._inside
        for name, value in attrs:
            if not value:
                continue
            fetched = name in _LOADED or (name == "href" and tag in _LINKED)
            if fetched and any(_ELSEWHERE.match(part) for part in value.split(",")):
                self.found.append(f"<{tag} {name}={value}>")
            if name == "style":
                self.found += _IN_STYLE.findall(value)

    def handle_endtag(self, tag: str) -> None:
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found += (_IN_STYLE if self._inside == "style" else _IN_SCRIPT).findall(data)


def loads(name: str, text: str) -> list[str]:
    """What a file of a site fetches from other hosts.

    >>> loads("a.html", '<a href="https://x.org">x</a><script src="//cdn.org/a.js"></script>')
    ['<script src=//cdn.org/a.js>']
    >>> loads("a.css", "@font-face { src: url('https://x.org/f.woff2') }"), loads("a.css", "a { b: url(f.png) }")
    (['https://x.org/f.woff2'], [])
    """
    if name.endswith(".html"):
        parser = _Loads()
        parser.feed(text)
        return parser.found
    return (_IN_STYLE if name.endswith(".css") else _IN_SCRIPT).findall(text)


def check(folder: Path) -> list[str]:
    """Faults of all files of a site, each with its file."""
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".html", ".css", ".js", ".svg")]
    if not any(path.suffix == ".html" for path in files):
        return [f"{folder} has no pages"]
    return [
        f"{path.relative_to(folder)} loads {one}" for path in files for one in loads(path.name, path.read_text("utf-8"))
    ]


if __name__ == "__main__":
    faults = check(Path(sys.argv[1]))
    sys.exit("\n".join(faults) or 0)
