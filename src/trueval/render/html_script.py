"""The script of HTML pages: tables that can be sorted, and downloads of tables and pictures.

A page is complete without it: all buttons are made by the script itself. The policy of a page admits this script, by
its hash, and no other; nothing is fetched from anywhere.
"""

from __future__ import annotations

import base64
import hashlib

SCRIPT = r"""
(() => {
  const text = cell => cell.textContent.trim().replace(/\s+/g, " ");
  const shown = /^[<>≈\s]*([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)/i;
  const number = words => {
    const found = words.replace(/−/g, "-").match(shown);
    return found ? parseFloat(found[1].replace(/,/g, "")) : NaN;
  };
  const empty = words => words === "" || words === "–" || words === "undefined";

  function sort(table, place, head) {
    const body = table.tBodies[0];
    const down = head.getAttribute("aria-sort") === "ascending";
    const rows = [...body.rows].map(row => ({ row, words: text(row.cells[place]) }));
    const told = rows.filter(one => !empty(one.words));
    const numeric = told.every(one => !isNaN(number(one.words)));
    const order = (a, b) => numeric ? number(a.words) - number(b.words) : a.words.localeCompare(b.words);
    told.sort((a, b) => down ? order(b, a) : order(a, b));
    body.append(...told.map(one => one.row), ...rows.filter(one => empty(one.words)).map(one => one.row));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  }

  function save(content, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function csv(table) {
    const cell = one => {
      let words = text(one);
      if (/^[=+@\t-]/.test(words) && isNaN(Number(words))) words = "'" + words;  // no spreadsheet may run it
      return '"' + words.replace(/"/g, '""') + '"';
    };
    return [...table.rows].map(row => [...row.cells].map(cell).join(",")).join("\r\n") + "\r\n";
  }

  function svg(drawing) {
    const copy = drawing.cloneNode(true);
    const style = getComputedStyle(document.documentElement);
    const [, , width, height] = copy.getAttribute("viewBox").split(/\s+/);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.removeAttribute("style");
    const colours = /var\((--[a-z-]+)\)/g;
    return new XMLSerializer().serializeToString(copy)
      .replace(colours, (_, name) => style.getPropertyValue(name).trim());
  }

  function button(label, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = label;
    made.addEventListener("click", act);
    return made;
  }

  function tools(...buttons) {
    const made = document.createElement("p");
    made.className = "tools";
    made.append(...buttons);
    return made;
  }

  let tables = 0;
  for (const table of document.querySelectorAll(".wide > table")) {
    const figure = table.closest("figure");
    const name = (figure ? figure.id : "table-" + ++tables) + ".csv";
    table.parentNode.after(tools(button("Download CSV", () => save(csv(table), "text/csv", name))));
    if (table.tBodies[0].rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const made = button(head.textContent, () => sort(table, place, head));
      made.className = "sort";
      head.replaceChildren(made);
    });
  }
  for (const drawing of document.querySelectorAll("figure > .drawing")) {
    const name = drawing.parentNode.id + ".svg";
    const made = button("Download SVG", () => save(svg(drawing.firstElementChild), "image/svg+xml", name));
    drawing.after(tools(made));
  }
})();
"""


def policy() -> str:
    """What a page may do: use its own style and this one script, and ask nobody for anything.

    >>> policy().startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    True
    """
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
