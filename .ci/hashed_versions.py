"""Write the versions of constraints.txt with the hashes of all files of each: constraints-hashes.txt.

    python .ci/hashed_versions.py                 # asks the package index, writes the file
    python .ci/hashed_versions.py --index https://…/simple

The hashes are those of wheels for the Pythons that pyproject.toml allows, and of sources. The file names no index.
"""

from __future__ import annotations

import argparse
import html.parser
import re
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

_ROOT = Path(__file__).parents[1]
_PYTHONS = range(11, 15)  # 3.11 to 3.14
_SOURCES = (".tar.gz", ".zip")


class _Links(html.parser.HTMLParser):
    """Addresses of the files on a page of the index."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


def plain(name: str) -> str:
    """A name as indexes compare it.

    >>> plain("ruamel.Yaml_x")
    'ruamel-yaml-x'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """Names and versions of a file of plain pins.

    >>> pins("# why\\nnumpy==2.4.6\\n")
    {'numpy': '2.4.6'}
    """
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return dict(line.split("==") for line in lines if line)  # type: ignore[misc]


def hashed_pins(text: str) -> dict[str, tuple[str, list[str]]]:
    """Names, versions and hashes of a file that this script wrote.

    >>> hashed_pins("a==1 \\\\\\n    --hash=sha256:12 \\\\\\n    --hash=sha256:34\\n")
    {'a': ('1', ['12', '34'])}
    """
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    words = [line.split() for line in lines]
    return {
        w[0].split("==")[0]: (w[0].split("==")[1], [h.removeprefix("--hash=sha256:") for h in w[1:]]) for w in words
    }


def fits(file: str) -> bool:
    """Whether a file can be installed with a Python that the project supports.

    >>> [fits(f"a-1-{tags}.whl") for tags in ("py3-none-any", "cp310-cp310-x", "cp312-cp312-x", "cp39-abi3-x")]
    [True, False, True, True]
    """
    if not file.endswith(".whl"):
        return file.endswith(_SOURCES)
    pythons, abi = file.removesuffix(".whl").split("-")[-3:-1]
    if abi.endswith("t"):  # without the lock that all others have
        return False
    own = {f"cp3{minor}" for minor in _PYTHONS}
    return any(tag == "py3" or tag in own or (abi == "abi3" and tag.startswith("cp3")) for tag in pythons.split("."))


def hashes(name: str, version: str, index: str) -> list[str]:
    """The hashes of a version's files, sorted."""
    with urllib.request.urlopen(f"{index.rstrip('/')}/{plain(name)}/", timeout=60) as page:
        links = _Links()
        links.feed(page.read().decode())
    stem = re.compile(rf"{re.sub('-', '[-_.]+', plain(name))}-{re.escape(version)}(-.*\.whl|\.tar\.gz|\.zip)", re.I)
    found = set()
    for link in links.found:
        address, _, digest = link.partition("#sha256=")
        file = unquote(address.rpartition("/")[2])
        if digest and stem.fullmatch(file) and fits(file):
            found.add(digest)
    if not found:
        raise SystemExit(f"the index has no files of {name}=={version}")
    return sorted(found)


def rendered(found: Iterable[tuple[str, str, list[str]]]) -> str:
    """The file's text."""
    head = (
        "# Made of constraints.txt by .ci/hashed_versions.py. For pip install --require-hashes: see CONTRIBUTING.md.\n"
    )
    return head + "".join(
        " \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{one}" for one in digests)]) + "\n"
        for name, version, digests in found
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write constraints-hashes.txt.")
    parser.add_argument("--index", default="https://pypi.org/simple")
    index = parser.parse_args().index
    pinned = pins((_ROOT / "constraints.txt").read_text())
    with ThreadPoolExecutor(8) as pool:
        digests = list(pool.map(lambda pin: hashes(*pin, index), pinned.items()))
    text = rendered((name, version, one) for (name, version), one in zip(pinned.items(), digests))
    (_ROOT / "constraints-hashes.txt").write_text(text)
