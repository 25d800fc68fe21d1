"""The helpers for tests in a browser find what they are there to find."""

from __future__ import annotations

from pathlib import Path

from browser_pages import Browser

HEAD = '<!doctype html><html lang="en"><head><title>A page</title><meta name="viewport" content="width=device-width">'


def written(folder: Path, body: str, head: str = "") -> Path:
    path = folder / "page #1.html"  # a name that must be quoted in an address
    path.write_text(f"{HEAD}{head}</head><body><main><h1>A page</h1>{body}</main></body></html>", encoding="utf-8")
    return path


def test_a_sound_page_has_no_faults(browser: Browser, tmp_path: Path) -> None:
    with browser.open(written(tmp_path, "<p>Nothing is wrong.</p>"), width=390) as visit:
        assert visit.faults() == []
        assert [url for url in visit.asked if url.endswith("page%20%231.html")] == visit.asked


def test_each_kind_of_fault_is_told(browser: Browser, tmp_path: Path) -> None:
    body = """
        <img src="https://pictures.example.org/a.png" alt="a picture"> <img src="http://localhost.example.org/b.png">
        <p style="color: #aaa; background: #fff; width: 2000px">pale and wide</p>
        <script>console.error("a broken chart"); throw new Error("a thrown word")</script>"""
    with browser.open(written(tmp_path, body)) as visit:
        told = "\n".join(visit.faults())
        assert {"https://pictures.example.org/a.png", "http://localhost.example.org/b.png"} == set(visit.outside)
        assert visit.wider() > 500
        assert not [one for one in visit.faults(but=("image-alt", "color-contrast")) if one.startswith("image-alt")]
    for part in ("asks another host", "a broken chart", "a thrown word", "sideways", "image-alt", "color-contrast"):
        assert part in told


def test_the_preferred_colours_and_the_lack_of_scripts_reach_the_page(browser: Browser, tmp_path: Path) -> None:
    style = "<style>@media (prefers-color-scheme: dark) { body { background: #111111; color: #eeeeee } }</style>"
    path = written(tmp_path, "<script>document.title = 'changed'</script>", style)
    ground = "getComputedStyle(document.body).backgroundColor"
    with browser.open(path) as light, browser.open(path, dark=True) as dark:
        assert light.page.evaluate(ground) != "rgb(17, 17, 17)"
        assert dark.page.evaluate(ground) == "rgb(17, 17, 17)"
        assert light.page.title() == "changed"
    with browser.open(path, script=False) as still:
        assert still.page.title() == "A page"


def test_what_a_policy_refuses_is_an_error(browser: Browser, tmp_path: Path) -> None:
    policy = '<meta http-equiv="Content-Security-Policy" content="script-src \'none\'">'
    with browser.open(written(tmp_path, "<script>let a = 1</script>", policy)) as visit:
        assert "Content Security Policy" in visit.errors[0]
        assert visit.violations() == []  # axe works where the page allows no script
