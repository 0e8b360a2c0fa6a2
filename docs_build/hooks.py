"""The hooks of mkdocs: pages that are made from code, and pages that the navigation doesn't name."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs_build import functions, performance, settings

#: The pages that are made, by their addresses.
MADE: Final[dict[str, Callable[[], str]]] = {
    "functions.md": functions.page,
    "settings.md": settings.page,
    "performance.md": performance.page,
}
#: The title of the navigation's last section, with the pages that ``mkdocs.yml`` doesn't name.
MORE: Final = "More"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the made pages to the files of docs, and all pages without a place to the navigation."""
    for address, page in MADE.items():
        files.append(File.generated(config, address, content=page()))
    assert config.nav is not None
    placed = _addresses(config.nav)
    more = sorted(file.src_uri for file in files.documentation_pages() if file.src_uri not in placed)
    if more:
        config.nav.append({MORE: more})
    return files


def _addresses(nav: object) -> set[str]:
    """All addresses in a navigation of texts, lists and mappings.

    >>> sorted(_addresses(["a.md", {"B": ["b.md", {"C": "c.md"}]}]))
    ['a.md', 'b.md', 'c.md']
    """
    match nav:
        case str():
            return {nav}
        case dict():
            return _addresses(list(nav.values()))
        case list():
            return set().union(*map(_addresses, nav))
        case _:
            return set()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Have the site rebuilt when the makers of pages change."""
    config.watch.append(str(Path(__file__).parent))
    return config
