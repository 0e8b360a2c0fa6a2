"""The site is built without a warning, and a broken link is one."""

import gzip
import re
from pathlib import Path

import pytest

from docs_build import functions, settings
from docs_build.performance import NOTES, geometric_means
from sqlfront import Config
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.names.function_texts import function_texts
from tests.docs.blocks import pages
from tests.docs.site.building import build

#: Addresses that a page loads by itself: scripts, styles, pictures, frames. (Links that a reader follows may
#: lead elsewhere.)
_LOADED = re.compile(
    r"""<(?:script|img|iframe|link rel="(?:stylesheet|preconnect|icon)")[^>]*(?:src|href)="(https?:)?//"""
)
#: The largest size of a page, in bytes, as a server sends it.
_PAGE_LIMIT = 300_000


def test_the_site_is_built_strictly_with_all_pages_and_loads_nothing_from_other_hosts(tmp_path: Path) -> None:
    done = build(tmp_path)

    assert done.returncode == 0, done.stderr
    written = {path.stem for path in tmp_path.glob("*.html")}
    assert {page.stem for page in pages()} - {"README"} <= written
    assert [path.name for path in tmp_path.glob("*.html") if _LOADED.search(path.read_text("utf-8"))] == []
    weights = {path.name: len(gzip.compress(path.read_bytes())) for path in tmp_path.glob("*.html")}
    assert [name for name, weight in weights.items() if weight > _PAGE_LIMIT] == []


def test_each_function_of_spark_stands_once_on_the_page_of_functions() -> None:
    text = functions.page()
    here = set(function_names()) & set(function_texts())

    headings = re.findall(r"^### `*\s?(.+?)\s?`*$", text, re.MULTILINE)
    elsewhere = re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)
    assert sorted(headings) == sorted(here)
    assert sorted(elsewhere) == sorted(set(function_texts()) - here)


def test_each_field_of_a_configuration_stands_on_the_page_of_settings() -> None:
    text = settings.page()

    assert [name for name in Config.__struct_fields__ if f"| `{name}` |" not in text] == []


def test_the_chart_has_the_subjects_of_the_notes() -> None:
    means = geometric_means(NOTES.read_text("utf-8"))

    assert list(means) == ["sqlfront", "duckdb-1", "duckdb", "polars", "datafusion", "spark"]
    assert means["spark"] > means["sqlfront"] > 0


@pytest.mark.doors
@pytest.mark.parametrize(
    "fault",
    [
        "",
        "[x](nowhere.md)",
        "[x](index.md#nowhere)",
        "[x](/index.md)",
        "::: sqlfront.nowhere",
        "![x](none.svg)",
    ],
)
def test_a_fault_in_a_page_fails_the_build_and_no_fault_does_not(fault: str, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(f"# A page\n\n{fault}\n", "utf-8")
    configuration = tmp_path / "mkdocs.yml"
    configuration.write_text(_small_configuration(), "utf-8")

    assert (build(tmp_path / "site", configuration).returncode != 0) == bool(fault)


def _small_configuration() -> str:
    """The site's configuration, with one page and without the pages that are made."""
    text = (Path(__file__).parents[3] / "mkdocs.yml").read_text("utf-8")
    text = text[: text.index("# Pages that stand here")] + "nav:\n  - index.md\n"
    return re.sub(
        r"^(hooks:\n  - .*|docs_dir: .*|site_dir: .*|  custom_dir: .*|  - assets/site.css|extra_css:)\n",
        "",
        text,
        flags=re.MULTILINE,
    )
