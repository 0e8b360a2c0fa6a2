"""The rows of ``information_schema.columns`` for many relations at once, column by column.

A thousand tables have some ten thousand columns, but few types: the values that depend on a column's type are
computed once for each type, and then copied to the rows of that type.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront.information_schema.columns import COLUMNS
from sqlfront.information_schema.rows import Described, type_facts
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, repeat
from sqlfront_values.columns import batches
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
)

_TAKE: Final = pc.function("take")
#: Types without parameters, by Arrow's numbers, which are quicker to look up than the types.
_PLAIN: Final = frozenset(
    kind.id for kind in (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE)
)
#: A relation with its columns.
DescribedColumns = tuple[Described, pa.Schema]
_Numbers = npt.NDArray[np.int64]


def columns_batch(relations: Sequence[DescribedColumns]) -> pa.RecordBatch:
    """Return the rows of ``information_schema.columns`` for all columns of the ``relations``, in order."""
    counts = np.array([len(schema) for _, schema in relations], np.int64)
    total = int(counts.sum())
    owners = np.repeat(np.arange(len(relations)), counts)
    keys = [
        from_values(list(part), STRING) for part in zip(*(each.key for each, _ in relations), strict=True)
    ]
    names = [name for _, schema in relations for name in schema.names]
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    position = (np.arange(total) - starts + 1).astype(np.int32)
    columns = [
        *(_spread(key, owners) for key in keys or [repeat(None, STRING, 0)] * 3),
        from_values(names, STRING),
        from_numpy(position, INT),
        repeat(None, STRING, total),
        _sparse(relations, total, STRING, _nullable, "YES"),
        *_facts([kind for _, schema in relations for kind in schema.types]),
        _sparse(relations, total, INT, _partition_places, None),
        _sparse(relations, total, STRING, _comments, None),
    ]
    return batches.make_batch(columns, COLUMNS.names, total)


def _spread(values: pa.Array, numbers: _Numbers) -> pa.Array:
    """Return an array that has, for each of the ``numbers``, the value with this index."""
    return _TAKE.call([values, from_numpy(numbers, BIGINT)])


def _facts(kinds: Sequence[pa.DataType]) -> list[pa.Array]:
    """Return the output columns from ``data_type`` to ``interval_type``; their rows describe these types, in
    order."""
    known: dict[pa.DataType, int] = {}
    plain: dict[int, int] = {}
    numbers: list[int] = []
    for kind in kinds:
        number = plain.get(kind.id)
        if number is None:
            number = known.setdefault(kind, len(known))
            if kind.id in _PLAIN:
                plain[kind.id] = number
        numbers.append(number)
    places = np.array(numbers, np.int64)
    first = COLUMNS.get_field_index("data_type")
    rows = [type_facts(kind) for kind in known]
    width = len(type_facts(INT))
    return [
        _spread(from_values([row[place] for row in rows], COLUMNS.types[first + place]), places)
        for place in range(width)
    ]


def _sparse(
    relations: Sequence[DescribedColumns],
    total: int,
    kind: pa.DataType,
    values_of: Callable[[Described], dict[str, object]],
    usual: object,
) -> pa.Array:
    """Return an output column of the type ``kind`` whose value is ``usual`` for most rows. ``values_of``
    gives a relation's other values, by its columns' names. ``total``: the number of rows."""
    found = [values_of(relation) for relation, _ in relations]
    if not any(found):
        return repeat(usual, kind, total)
    return from_values(
        [
            values.get(name, usual)
            for values, (_, schema) in zip(found, relations, strict=True)
            for name in schema.names
        ],
        kind,
    )


def _nullable(relation: Described) -> dict[str, object]:
    return dict.fromkeys(relation.details.required, "NO")


def _partition_places(relation: Described) -> dict[str, object]:
    return {name: index for index, name in enumerate(relation.partition, 1)}


def _comments(relation: Described) -> dict[str, object]:
    return dict(relation.details.column_comments)
