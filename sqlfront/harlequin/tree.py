"""The catalog as Harlequin's tree: catalogs, schemas, relations, columns. The relations of a schema, and the
columns of a relation, are read when Harlequin opens the item above them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from harlequin.catalog import CatalogItem, InteractiveCatalogItem

from sqlfront.connection import Connection
from sqlfront.shell.interactive.display.visible import one_line
from sqlfront_values.errors import Error

_SCHEMAS: Final = (
    "SELECT catalog_name, schema_name FROM information_schema.schemata ORDER BY catalog_name, schema_name"
)
_TABLES: Final = (
    "SELECT table_name, table_type, comment FROM information_schema.tables "
    "WHERE table_catalog = ? AND table_schema = ? ORDER BY table_name"
)
_COLUMNS: Final = (
    "SELECT column_name, full_data_type, comment FROM information_schema.columns "
    "WHERE table_catalog = ? AND table_schema = ? AND table_name = ? ORDER BY ordinal_position"
)
_TABLE_LABELS: Final = {"BASE TABLE": "t", "VIEW": "v", "SYSTEM VIEW": "sys"}
#: Cells of the tree for a comment.
_LONGEST_COMMENT: Final = 80
#: Labels of types, by the beginning of Spark's names.
_TYPE_LABELS: Final = {
    "boolean": "t/f",
    "tinyint": "#",
    "smallint": "#",
    "int": "#",
    "bigint": "##",
    "float": "#.#",
    "double": "#.#",
    "decimal": "#.#",
    "string": "s",
    "binary": "0b",
    "date": "d",
    "timestamp": "ts",
    "timestamp_ntz": "ts",
    "interval": "|-|",
    "array": "[]",
    "map": "{m}",
    "struct": "{}",
    "void": "\\n",
}


def type_label(kind: str) -> str:
    """Return the short label of the type with Spark's name ``kind``.

    >>> type_label("decimal(10,2)"), type_label("array<int>"), type_label("interval day to second")
    ('#.#', '[]', '|-|')
    """
    return _TYPE_LABELS.get(kind.partition("(")[0].partition("<")[0].partition(" ")[0], "?")


def _with_comment(label: str, comment: object) -> str:
    """Return the type label followed by the comment of the table or column, if there is one. The tree shows
    the text beside the name; what doesn't fit appears in a tool-tip."""
    return f"{label} {one_line(str(comment), _LONGEST_COMMENT)}" if comment else label


def _quoted(*parts: str) -> str:
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


@dataclass
class _Level(InteractiveCatalogItem):  # type: ignore[misc]
    """An item of the tree whose children are read by a query on ``source`` when the item is opened. ``path``:
    the names of the items from the catalog down to this one."""

    path: tuple[str, ...] = ()
    source: Connection | None = None

    def fetch_children(self) -> Sequence[CatalogItem]:
        """Return the items below this one; an empty list if the query fails, for example since the relation
        was dropped meanwhile."""
        assert self.source is not None
        try:
            return self._children(self.source)
        except Error:
            return []

    def _children(self, source: Connection) -> Sequence[CatalogItem]:
        raise NotImplementedError


class _SchemaItem(_Level):
    """The item of a schema; its children are the tables and views."""

    def _children(self, source: Connection) -> Sequence[CatalogItem]:
        rows = source.execute(_TABLES, self.path).fetchall()
        return [
            _relation(source, (*self.path, str(name)), str(kind), comment) for name, kind, comment in rows
        ]


class _RelationItem(_Level):
    """The item of a table or view; its children are the columns."""

    def _children(self, source: Connection) -> Sequence[CatalogItem]:
        rows = source.execute(_COLUMNS, self.path).fetchall()
        return [
            CatalogItem(
                _quoted(*self.path, str(name)),
                _quoted(str(name)),
                str(name),
                _with_comment(type_label(str(kind)), comment),
                type_name=str(kind),
            )
            for name, kind, comment in rows
        ]


def _relation(source: Connection, path: tuple[str, ...], kind: str, comment: object) -> CatalogItem:
    """Return the item of a table or view. Choosing the item puts its name into the editor: without a
    qualifier if the name is found without one."""
    is_short = path[-2] in ("default", "session")
    written = _quoted(path[-1]) if is_short else _quoted(*path[1:])
    return _RelationItem(
        _quoted(*path),
        written,
        path[-1],
        _with_comment(_TABLE_LABELS.get(kind, "?"), comment),
        type_name=kind,
        path=path,
        source=source,
    )


def catalog_items(source: Connection) -> list[CatalogItem]:
    """Return the items of the catalogs, with their schemas below them; the items below a schema are read when
    the user opens the schema."""
    catalogs: dict[str, list[CatalogItem]] = {}
    for catalog, schema in source.execute(_SCHEMAS).fetchall():
        path = str(catalog), str(schema)
        item = _SchemaItem(_quoted(*path), _quoted(*path), path[1], "s", path=path, source=source)
        catalogs.setdefault(path[0], []).append(item)
    return [
        CatalogItem(_quoted(name), _quoted(name), name, "c", children=children)
        for name, children in catalogs.items()
    ]
