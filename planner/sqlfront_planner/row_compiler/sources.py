"""Sources of a row program: rows by key, small tables, and the constants of the keys."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlfront_connectors.base import row_access
from sqlfront_engine.row_programs.compiler import RowCompiler, has_python_values
from sqlfront_engine.row_programs.keys import KeyPart, KeyParts, Keys, found_rows
from sqlfront_engine.row_programs.program import NotByRows, ProgramRun, Row, RowFunction, RowStep
from sqlfront_engine.row_programs.row_makers import picker
from sqlfront_planner.logical import table_row
from sqlfront_planner.lowering.builder import ScanVertex
from sqlfront_planner.pruning import constraints
from sqlfront_planner.row_compiler.row_plan import SMALL_ROWS, RowSource, SmallTable

if TYPE_CHECKING:
    from sqlfront_planner.pruning.key_condition import KeyCondition


class Sources:
    """The collector of a row program's inputs, while the scans are compiled: ``found`` are the lookups by
    key, ``tables`` the small tables that are read entirely."""

    def __init__(self, scans: Sequence[ScanVertex], compiler: RowCompiler) -> None:
        #: The scans by vertex.
        self.scans = {scan.vertex: scan for scan in scans}
        self.found: list[RowSource] = []
        self.tables: list[SmallTable] = []
        self._constants = compiler.constants

    def step(self, scan: ScanVertex, inputs: Sequence[RowStep]) -> RowStep | None:
        """Make the step of a scan, the function that returns its rows by a lookup by key or from a small
        table, and add the lookup to ``found`` or the table to ``tables``. Return None if the scan needs a
        job. ``inputs``: the steps of the scan's inputs, whose rows may give the keys."""
        request = scan.request
        types = tuple([column.type for column in table_row(scan.relation.schema, request.columns)])
        access = row_access(scan.snapshot)
        if access is None or not all(map(has_python_values, types)):
            return None
        if request.by:
            if access.row_path(request.by, request.columns) is None:
                return None
            keys = self._keys(scan, inputs)
            rows = found_rows(len(self.found), keys)
            given = None if scan.keys is None else keys
            self.found.append(
                RowSource(scan.relation, request.by, request.columns, scan.table, scan.vertex, given)
            )
        elif access.small_rows(request.columns, SMALL_ROWS) is not None:
            rows = _table_rows(len(self.tables))
            self.tables.append(SmallTable(scan.relation, request.columns))
        else:
            return None
        return RowStep(rows if request.limit is None else _limited(rows, request.limit), types)

    def _keys(self, scan: ScanVertex, inputs: Sequence[RowStep]) -> Keys:
        """Make the function that computes the scan's keys in a run: from the rows of the input, or from the
        scan's conditions."""
        if scan.request.keys_from is not None:
            return _given_keys(inputs[0], scan.request.keys_from, nulls=scan.request.null_keys)
        assert scan.keys is not None
        parts = self._key_parts(scan.keys)
        if parts is not None:
            return KeyParts(parts)
        from_literals = scan.keys.keys

        def keys(run: ProgramRun) -> Sequence[Row]:
            found = from_literals(run.literal)
            if found is None:
                raise NotByRows
            return found

        return keys

    def _key_parts(self, condition: "KeyCondition") -> list[KeyPart] | None:
        """Return for each column of the key the constants that the column may equal, in the commonest case:
        each column is compared with constants, without casts. Return None in all other cases."""
        if len(condition.boxes) != 1 or condition.boxes[0].when:
            return None
        parts = []
        for said in condition.boxes[0].columns:
            match said:
                case (constraints.OneOf(candidates=candidates, or_null=False),) if not any(
                    candidate.through for candidate in candidates
                ):
                    safe = {candidate.null_safe for candidate in candidates}
                    if len(safe) != 1:
                        return None
                    places = [self._constants.place(candidate.expression) for candidate in candidates]
                    parts.append(KeyPart(places, asks_for_null=safe.pop()))
                case _:
                    return None
        return parts


def _given_keys(source: RowStep, columns: Sequence[int], *, nulls: bool) -> Keys:
    """Return a function that computes the distinct keys in ``columns`` of the source's rows. Without
    ``nulls``, keys that contain a null are left out."""
    pick = picker(columns)
    if nulls:
        return lambda run: list(dict.fromkeys(map(pick, source.rows(run))))
    return lambda run: [key for key in dict.fromkeys(map(pick, source.rows(run))) if None not in key]


def _table_rows(place: int) -> RowFunction:
    return lambda run: run.tables[place]


def _limited(rows: RowFunction, limit: int) -> RowFunction:
    return lambda run: rows(run)[:limit]
