"""Settings of the documentation site: `make docs`."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from docutils import nodes

import trueval
from page_examples import Site

project = "trueval"
author = "the authors of trueval"
project_copyright = author
version = release = trueval.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml"]
exclude_patterns = ["_build", "_ext", "_static"]
myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"trueval {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_show_search_summary = False  # fetched by script, which browsers refuse for pages opened from a disk
html_copy_source = False
html_show_sourcelink = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

# Types stand in the docstrings, in words; signatures stay short enough to be read.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "code"
# The words for types in docstrings ("text", "DataFrame") are no classes of ours. What is ours must resolve.
nitpick_ignore_regex = [("py:(class|exc)", r"(?!trueval\.).*")]


def unlink_metrics(_: Any, page: nodes.document) -> None:
    """In docstrings, docutils takes `ndcg@10` for an address of mail: it is none. No page has one."""
    for node in list(page.findall(nodes.reference)):
        if node.get("refuri", "").startswith("mailto:"):
            node.replace_self(node.children)


def separate_attributes(*arguments: Any) -> None:
    """Give each of several attributes that are explained together (`users, items : DataFrame`) a line of its own."""
    lines: list[str] = arguments[-1]
    if "Attributes" not in lines:
        return
    start = lines.index("Attributes") + 2
    made: list[str] = lines[:start]
    inside = True
    for place in range(start, len(lines)):
        line = lines[place]
        inside = inside and not (line.startswith("---"))
        names, colon, kind = line.partition(" : ")
        if inside and colon and "," in names and not line.startswith(" "):
            below = list(itertools.takewhile(lambda text: text.startswith("    "), lines[place + 1 :]))
            *first, last = names.split(", ")
            for name in first:
                made += [f"{name} : {kind}", *below]
            line = f"{last} : {kind}"
        made.append(line)
    lines[:] = made


def make_reachable(_: Any, name: str, template: str, context: dict[str, Any], page: Any) -> None:
    """What is wider than its place can be scrolled from the keyboard; captions have a level."""
    for part in ("body", "furo_navigation_tree"):
        text = context.get(part) or ""
        text = text.replace('role="heading">', 'role="heading" aria-level="2">')
        text = re.sub(r"<pre(?=>)", '<pre tabindex="0"', text)
        context[part] = re.sub(r'<div class="(?:table-wrapper|math)[^"]*"(?=>)', r'\g<0> tabindex="0"', text)


def setup(app: Any) -> None:
    """Run the examples of every page when it is read."""
    site = Site()

    def read(_: Any, name: str, source: list[str]) -> None:
        source[0] = site.expand(name, source[0])

    app.connect("source-read", read)
    app.connect("doctree-read", unlink_metrics)
    app.connect("autodoc-process-docstring", separate_attributes, priority=100)  # before napoleon reads it
    app.connect("html-page-context", make_reachable, priority=900)  # after furo has made its contents
    app.connect("build-finished", lambda *_: site.close())
