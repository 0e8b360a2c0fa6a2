"""The site in headless Chromium: every page, on a desk and on a phone. Screenshots are in build/screens."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.blocks import ROOT
from tests.docs.site.building import build
from tests.docs.site.serving import served

pytestmark = pytest.mark.doors

_CHROMIUM = shutil.which("chromium")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SCREENS = ROOT / "build" / "screens"
_SIZES = {"desk": (1280, 900), "phone": (390, 844)}
#: The links and anchors of a page.
_LINKS = "[...document.querySelectorAll('a[href]')].map(link => link.href)"
_ANCHORS = "[...document.querySelectorAll('[id], a[name]')].map(one => one.id || one.name)"
_OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
#: The number of blocks of code without a button that copies the code.
_NOT_COPIED = """[...document.querySelectorAll('.md-typeset pre')].filter(block =>
    block.querySelector('code') && !block.querySelector('.md-code__button, .md-clipboard')).length"""
_BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@dataclass
class Seen:
    """What the browser complained about, and what it asked for, on one page."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, page: Any) -> None:
        """Collect from a page of the browser."""
        page.on("console", lambda line: self.complaints.append(line.text) if line.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as at:
        yield at


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    if _CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=_CHROMIUM, args=list(_FLAGS))
        yield chromium
        chromium.close()


@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_opens_without_a_complaint_and_fits(
    browser: Any, site: Path, address: str, size: str, scheme: str
) -> None:
    width, height = _SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    faults = []
    for name in _names(site):
        page, seen = context.new_page(), Seen()
        seen.watch(page)
        page.goto(f"{address}/{name}", wait_until="networkidle")
        overflow = page.evaluate(_OVERFLOW)
        faults += [f"{name}: {complaint}" for complaint in seen.complaints]
        faults += [f"{name}: asks {url}" for url in seen.requests if not _is_own(url, address)]
        faults += [f"{name}: {overflow} px too wide"] if overflow > 0 else []
        # The theme's script makes the buttons some seconds after long pages have come. Raises TimeoutError.
        page.wait_for_function(f"{_NOT_COPIED} === 0", timeout=60_000)
        _SCREENS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=_SCREENS / f"{size}-{scheme}-{Path(name).stem}.png")
        page.close()
    context.close()
    assert faults == []


def test_no_link_and_no_anchor_is_dead(browser: Any, site: Path, address: str) -> None:
    context = browser.new_context()
    links, anchors = {}, {}
    for name in _names(site):
        page = context.new_page()
        page.goto(f"{address}/{name}")
        links[name], anchors[name] = page.evaluate(_LINKS), set(page.evaluate(_ANCHORS))
        page.close()
    context.close()

    faults = []
    for name, targets in links.items():
        for target in targets:
            parts = urlsplit(target)
            if not _is_own(target, address):
                continue
            found = parts.path.lstrip("/") or "index.html"
            if not (site / found).is_file() or (
                parts.fragment and unquote(parts.fragment) not in anchors.get(found, set())
            ):
                faults.append(f"{name}: {target}")
    assert faults == []


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("date_trunc", "functions.html"),
        ("sqlfront.lane", "settings.html"),
        ("DIVIDE_BY_ZERO", "troubleshooting.html"),
        ("fetch_arrow_table", "api.html"),
    ],
)
def test_the_search_finds(browser: Any, address: str, words: str, found: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, seen = context.new_page(), Seen()
    seen.watch(page)
    page.goto(f"{address}/index.html", wait_until="networkidle")
    page.keyboard.press("/")
    page.keyboard.type(words)
    result = page.locator(f".md-search-result__link[href*='{found}']").first
    result.wait_for(state="visible", timeout=60_000)
    context.close()

    assert seen.complaints == []
    assert [url for url in seen.requests if not _is_own(url, address)] == []


def test_a_page_that_is_not_there_leads_back(browser: Any, site: Path, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{address}/404.html", wait_until="networkidle")
    offered = page.locator(".md-content a").evaluate_all("links => links.map(link => link.href)")
    context.close()

    assert len(offered) == 4
    assert [link for link in offered if not (site / urlsplit(link).path.lstrip("/")).is_file()] == []


def test_the_switch_makes_the_page_dark_and_the_next_page_remembers(browser: Any, address: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.goto(f"{address}/index.html", wait_until="networkidle")
    light = page.evaluate(_BACKGROUND)
    page.locator("label[title='Switch to dark mode']").click()
    page.wait_for_function("document.body.dataset.mdColorScheme === 'slate'", timeout=60_000)
    page.goto(f"{address}/limits.html", wait_until="networkidle")
    dark = page.evaluate(_BACKGROUND)
    context.close()

    assert light != dark


def _names(site: Path) -> list[str]:
    return sorted(path.name for path in site.glob("*.html"))


def _is_own(url: str, address: str) -> bool:
    """Whether the page's own server is asked, or no server."""
    return url.startswith((f"{address}/", "data:", "blob:"))
