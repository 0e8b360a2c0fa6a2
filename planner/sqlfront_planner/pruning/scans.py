"""The key conditions of a query's scans."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlfront_connectors import base
from sqlfront_planner.logical import LogicalScan
from sqlfront_planner.pruning import MOST_KEYS, analysis
from sqlfront_values.settings import Settings
from sqlfront_values.types import is_fractional

if TYPE_CHECKING:
    from sqlfront_planner.pruning.key_condition import KeyCondition


class KeyConditions:
    """The key conditions of a query's scans: for each scan, which keys its filters restrict a key of the
    table to. Each is found once and then remembered.

    ``limit``: the greatest number of keys of a table that are looked up; with 0 no scan has a key condition.
    ``by_rows``: the conditions serve a row program, which looks up at most ``limit`` keys, and any key that a
    join gives.
    """

    def __init__(
        self, settings: Settings | None = None, limit: int = MOST_KEYS, *, by_rows: bool = False
    ) -> None:
        self.settings = settings or Settings()
        self.limit = limit
        self.by_rows = by_rows
        # Invariant: the entry holds the scan, so that no other scan gets its id.
        self._known: dict[int, tuple[LogicalScan, KeyCondition | None]] = {}

    def of(self, scan: LogicalScan) -> "KeyCondition | None":
        """Return the condition on a key by which the scan's table can find all required rows; None if the
        scan's filters don't restrict a key of the table."""
        if not scan.filters or not self.limit:
            return None
        known = self._known.get(id(scan))
        if known is None:
            known = self._known[id(scan)] = scan, self._find(scan)
        return known[1]

    def _find(self, scan: LogicalScan) -> "KeyCondition | None":
        """Return the condition on the table's first key whose number of values has a known bound. If there
        is none, return the condition on the first restricted key, for a row program None."""
        access = base.key_access(scan.snapshot)
        if access is None:
            return None
        found: KeyCondition | None = None
        for condition in self._conditions(scan, access.keys):
            if condition.most is not None and (condition.most <= self.limit or not self.by_rows):
                return condition
            found = found or condition
        return None if self.by_rows else found

    def _conditions(self, scan: LogicalScan, keys: Iterable[tuple[int, ...]]) -> "Iterable[KeyCondition]":
        schema = scan.table.schema
        for columns in keys:
            types = [schema.field(ordinal).type for ordinal in columns]
            if self.by_rows and any(map(is_fractional, types)):
                continue
            condition = analysis.key_condition(columns, types, scan.filters, self.settings, self.limit)
            if condition is not None:
                yield condition
