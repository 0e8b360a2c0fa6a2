"""The class of a result's rows, and of the structs in their values."""

from collections.abc import Sequence
from typing import SupportsIndex


class Row(tuple[object, ...]):  # noqa: SLOT001 - a tuple takes no slots that hold something
    """A row of a result: a tuple whose values are also attributes and items by column name, as in PySpark's
    ``Row``. Libraries that know named tuples (polars, pandas) treat a row as a named tuple.

    >>> row = Row(("id", "name"), (7, "x"))
    >>> row, row.name, row["id"], row.asDict()
    (Row(id=7, name='x'), 'x', 7, {'id': 7, 'name': 'x'})
    """

    _names: tuple[str, ...]

    def __new__(cls, names: Sequence[str], values: Sequence[object]) -> "Row":
        """Make a row of ``values`` whose columns are called ``names``; both have the same length. If a name
        repeats, access by the name finds the first value with it."""
        row = super().__new__(cls, values)
        row._names = tuple(names)
        return row

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        names = self.__dict__.get("_names", ())
        if name in names:
            return self[names.index(name)]
        raise AttributeError(f"the row has no column {name!r}; its columns are {', '.join(names)}")

    def __getitem__(self, key: SupportsIndex | slice | str) -> object:  # type: ignore[override]
        if isinstance(key, str):
            if key not in self._names:
                raise KeyError(f"the row has no column {key!r}; its columns are {', '.join(self._names)}")
            return super().__getitem__(self._names.index(key))
        return super().__getitem__(key)

    @property
    def __fields__(self) -> list[str]:
        """The names of the columns, under PySpark's attribute name."""
        return list(self._names)

    @property
    def _fields(self) -> tuple[str, ...]:
        """The names of the columns, under the attribute name of named tuples."""
        return self._names

    def _asdict(self) -> dict[str, object]:
        """The values by column name, under the method name of named tuples."""
        return self.asDict()

    def asDict(self, recursive: bool = False) -> dict[str, object]:  # noqa: N802 - PySpark's name
        """Return the values by column name. ``recursive``: nested rows become dicts, too, also those in lists
        and in the values of maps."""
        return dict(zip(self._names, map(_plain, self) if recursive else self, strict=True))

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in zip(self._names, self, strict=True))
        return f"Row({inner})"

    def __reduce__(self) -> tuple[object, ...]:
        return (Row, (self._names, tuple(self)))

    def __contains__(self, name: object) -> bool:
        """Return whether a column is called ``name``, as PySpark's ``Row`` does; values are not searched."""
        return name in self._names


def _plain(value: object) -> object:
    """Return ``value`` with every row in it, at any depth, as a dict."""
    match value:
        case Row():
            return value.asDict(recursive=True)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case _:
            return value
