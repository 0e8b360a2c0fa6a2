"""Files of lines, and their options."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tests.oracle.files import layouts
from tests.oracle.files.cases import FileCase, Way
from tests.oracle.files.layouts import Layout

_PARTS: Final = (
    "a",
    "b c",
    "\n",
    "\r\n",
    "\r",
    "",
    "é",
    "日本",
    "😀",
    "\ufeff",
    "\0",
    ";",
    "\t",
    "x" * 100,
    ";;",
)
_ALL: Final = "SELECT * FROM {source}"
_QUERIES: Final = (
    *(_ALL, _ALL, _ALL, "SELECT count(*) FROM {source}"),
    "SELECT * FROM {source} WHERE length(value) > 1",
)
_Content = tuple[Layout, str | None, str]


def cases(random: random.Random) -> Iterator[FileCase]:
    """Endless cases, the classes of oddity one after the other."""
    while True:
        for oddity, make in _CLASSES.items():
            layout, ddl, query = make(random)
            way = random.choice((Way.VIEW, Way.VIEW, Way.TABLE))
            if not layout.options and ddl is None and random.random() < 0.6:
                way = Way.PATH
            yield FileCase("text", layout.files, oddity, layout.options, ddl, way, layout.place, query)


def _text(random: random.Random) -> bytes:
    return "".join(random.choices(_PARTS, k=random.randint(0, 8))).encode()


def _lines(random: random.Random) -> _Content:
    """Lines of all ends, empty ones, marks of the byte order."""
    return Layout((("a.txt", _text(random)),)), None, random.choice(_QUERIES)


def _options(random: random.Random) -> _Content:
    """Whole files, other ends of lines."""
    options = {}
    if random.random() < 0.5:
        options["wholetext"] = random.choice(("true", "TRUE", "false", "x"))
    if random.random() < 0.6:
        options["lineSep"] = random.choice((";", ";;", "\n", "\r\n", "a", "é", ""))
    if random.random() < 0.2:
        options["encoding"] = random.choice(("UTF-8", "utf8", "UTF-16"))
    return Layout((("a.txt", _text(random)),), "", options), None, random.choice(_QUERIES)


def _several(random: random.Random) -> _Content:
    """Several files, some of them empty."""
    files = tuple((f"{number}.txt", _text(random)) for number in range(random.randint(1, 3)))
    return Layout(files), None, random.choice(_QUERIES)


def _declared(random: random.Random) -> _Content:
    """A declared schema."""
    ddl = random.choice(("value STRING", "a STRING", "a INT", "a STRING, b STRING", "a BINARY", "a DATE"))
    return Layout((("a.txt", _text(random)),)), ddl, _ALL


def _laid(
    layout: Callable[[random.Random, Sequence[bytes], str], Layout],
) -> Callable[[random.Random], _Content]:
    def make(random: random.Random) -> _Content:
        contents = [_text(random) for _ in range(random.choice((1, 2, 3)))]
        return layout(random, contents, ".txt"), None, random.choice(_QUERIES)

    return make


_CLASSES: Final[Mapping[str, Callable[[random.Random], _Content]]] = {
    "lines": _lines,
    "options": _options,
    "several files": _several,
    "declared schema": _declared,
    "compressed": _laid(layouts.compressed),
    "partitions": _laid(layouts.partitions),
    "globs": _laid(layouts.globs),
    "folders": _laid(layouts.folders),
}
