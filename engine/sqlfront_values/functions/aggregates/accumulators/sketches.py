"""Aggregates of sketches: a state holds values that aren't in a sketch yet, beside the bytes of one."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.columns.batches import Integers, gather, row_indices
from sqlfront_values.columns.encoding import Codes, canonical, combine, encode
from sqlfront_values.columns.grouping import group_codes
from sqlfront_values.functions.aggregates.accumulators.base import Groups, without_nulls
from sqlfront_values.functions.aggregates.accumulators.lists import flatten_lists, to_lists
from sqlfront_values.functions.sketches.family import SketchFamily
from sqlfront_values.room import check
from sqlfront_values.types import BINARY, physical

#: Values up to which a group's values stay a list when states are merged.
_FEW: Final = 256

#: From the arguments to the values that a sketch is made of, with their groups.
Reader: TypeAlias = Callable[[Groups, Sequence[pa.Array]], tuple[Groups, pa.Array]]
#: From the results of the groups' sketches to the column of results.
Writer: TypeAlias = Callable[[list[object]], pa.Array]


def read_values(groups: Groups, arguments: Sequence[pa.Array]) -> tuple[Groups, pa.Array]:
    """Return the only argument's values that aren't null."""
    groups, (values,) = without_nulls(groups, arguments)
    return groups, values


def write_binaries(results: list[object]) -> pa.Array:
    """Return the results, which are bytes."""
    return from_values(results, BINARY)


class Sketches(msgspec.Struct, frozen=True):
    """An accumulator that makes a sketch of the values of each group; ``type`` is the logical type of the
    values that ``read`` finds in the arguments.

    A state has the bytes of a sketch, or null, and the values behind those of the sketch, in their order. So
    the values of all states that come from one instance go into one sketch in the order of the rows, as in
    one of Spark's partitions. If ``unique``, only the first of equal values matters. ``streamed``: see
    :meth:`~sqlfront_values.functions.sketches.family.SketchFamily.result`.
    """

    family: SketchFamily
    type: pa.DataType
    unique: bool = False
    read: Reader = read_values
    write: Writer = write_binaries
    streamed: bool = False

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (BINARY, physical(pa.list_(self.type)))

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, values = self.read(groups, arguments)
        return [pa.nulls(groups.size, BINARY), self._lists(groups, values)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        inner, (values,) = flatten_lists(groups, [states[1]])
        if states[0].null_count == len(states[0]) and len(values) <= _FEW * groups.size:
            return [pa.nulls(groups.size, BINARY), self._lists(inner, values)]
        merged: list[bytes] = []
        for rows in _rows_of(groups):
            check()
            merged.append(self._folded(states, rows))
        nothing = Groups(np.zeros(0, np.int64), groups.size)
        return [from_values(merged, BINARY), to_lists(nothing, [values.slice(0, 0)])[0]]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        results: list[object] = []
        for row in range(len(states[0])):
            check()
            results.append(self.family.result(self._folded(states, np.array([row])), streamed=self.streamed))
        return self.write(results)

    def _lists(self, groups: Groups, values: pa.Array) -> pa.Array:
        """Return the values of each group as a list, in the order of the rows."""
        if self.unique:
            values = canonical(values)
            codes = combine([Codes(groups.ids, groups.size), encode(values)], len(values))
            first = np.sort(group_codes(codes).rows)
            groups, values = Groups(groups.ids[first], groups.size), gather(values, row_indices(first))
        return to_lists(groups, [values])[0]

    def _folded(self, states: Sequence[pa.Array], rows: Integers) -> bytes:
        """Return the bytes of the sketch of the states in the rows: values are added to the sketch before
        them, sketches are merged."""
        sketches: list[bytes] = []
        values: list[object] = []
        for row in rows.tolist():
            buffer = states[0][row].as_py()
            if buffer is not None:
                if values:
                    sketches = [*sketches[:-1], self.family.added(values, sketches[-1] if sketches else None)]
                    values = []
                sketches.append(buffer)
            values += to_python(states[1].slice(row, 1).flatten())
        if values or not sketches:
            sketches = [*sketches[:-1], self.family.added(values, sketches[-1] if sketches else None)]
        return sketches[0] if len(sketches) == 1 else self.family.merged(sketches)


def _rows_of(groups: Groups) -> list[Integers]:
    """Return the rows of each group, in their order."""
    order = np.argsort(groups.ids, kind="stable")
    return np.split(order, np.cumsum(groups.counts())[:-1])
