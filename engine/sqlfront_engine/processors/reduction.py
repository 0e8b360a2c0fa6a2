"""Semi-join reduction: dropping rows without a partner before a join."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, MemoryAccount
from sqlfront_values.columns.batches import Mask, Rows, gather_batch
from sqlfront_values.columns.presence import KeyPresence
from sqlfront_values.errors import OperationalError

#: Rows: smaller batches are left alone, since testing their rows isn't worth the table that a test needs.
FEWEST_ROWS: Final = 4096
#: A batch isn't copied if a greater share of its rows passes. Testing ends for good if a greater share of all
#: tested rows has passed, checked after TRIAL_ROWS rows.
USEFUL_SHARE: Final = 0.75
TRIAL_ROWS: Final = 4 * BATCH_ROWS


class Reduction:
    """A filter of the probe side of a join, which drops rows whose value in one key column occurs nowhere on
    the build side. It may pass some of these rows, and gives up testing if too few rows are dropped.
    ``build_key``: the key column of the build side; ``probe_ordinal``: the key column of the probe side;
    ``memory``: the account that the test's memory is charged to."""

    def __init__(self, build_key: pa.Array, probe_ordinal: int, memory: MemoryAccount) -> None:
        self._build_key = build_key
        self.ordinal: Final = probe_ordinal
        self._memory = memory
        self._presence: KeyPresence | None = None
        self._useful = True
        self._tested = self._passed = 0

    def narrow(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch without the rows whose key is known to be missing on the build side."""
        rows = self.choose(batch.column(self.ordinal))
        return batch if rows is None else gather_batch(batch, rows)

    def choose(self, column: pa.Array) -> Rows | None:
        """Return the numbers of the rows to keep, given the batch's key column; None = keep all rows."""
        length = len(column)
        if length < FEWEST_ROWS or not self._useful:
            return None
        mask = self._test(column)
        if mask is None:
            self._useful = False
            return None
        rows = np.flatnonzero(mask)
        self._tested += length
        self._passed += len(rows)
        self._useful = self._tested < TRIAL_ROWS or self._passed <= USEFUL_SHARE * self._tested
        return None if len(rows) > USEFUL_SHARE * length else rows

    def _test(self, column: pa.Array) -> Mask | None:
        if self._presence is None:
            presence = KeyPresence.of(self._build_key)
            if presence is None:
                return None
            try:
                self._memory.charge(presence.nbytes)
            except OperationalError:  # the join needs no test
                return None
            self._presence = presence
        return self._presence.test(column)
