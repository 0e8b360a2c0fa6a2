"""Queries with and without pruning: what they read, who takes part, and what they answer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

import sqlfront
from sqlfront.cluster.embedded import EmbeddedMembers
from sqlfront.lanes.jobs import plan_job, submit
from sqlfront_connectors.base import Key
from sqlfront_planner.binder import Arguments
from sqlfront_planner.explain.scan_pruning import ScanPruning, scan_prunings
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS, partition_ids
from sqlfront_values.types import physical

#: Values of each of the columns of the planner's cases, those among them that conditions ask for.
POOLS: Final[dict[str, list[object]]] = {
    "i": [None, *range(-1, 12), 2147483646, 2147483647, -2147483648],
    "j": [None, *range(12)],
    "l": [None, *range(8), 5_000_000_000, 10**16, 10**16 + 1],
    "h": [None, *range(8), 32767],
    "b": [None, -128, 0, 5, 125, 126, 127],
    "s": [None, "", "a", "A", "b", "ab", "5", "2024-02-28", "spark_catalog"],
    "d": [None, *(date(2024, 2, day) for day in (27, 28, 29)), date(2024, 3, 1), date(9999, 12, 31)],
    "ts": [None, *(datetime(2024, 2, 28, hour, tzinfo=UTC) for hour in (0, 1, 2))],
    "ntz": [None, *(datetime(2024, 2, 28, hour) for hour in (0, 1, 2))],
    "dec": [None, *map(Decimal, ("0.10", "1.00", "5.00", "5.01", "5.50", "-5.50"))],
    "wide": [None, *map(Decimal, ("0.1000", "1.2500", "5.0000"))],
    "f": [None, 0.0, -0.0, 0.5, 5.0, float("nan")],
    "g": [None, 0.0, -0.0, 0.5, 1.5, 5.0, float("nan")],
    "bo": [None, True, False],
    "bin": [None, b"", b"\x00\xff", b"a"],
    "v": [None, *range(6)],
}


def random_rows(schema: pa.Schema, count: int, seed: int) -> pa.Table:
    """Rows of those columns."""
    randomness = random.Random(seed)
    columns = [
        pa.array([randomness.choice(POOLS[field.name]) for _ in range(count)], field.type) for field in schema
    ]
    return pa.table(columns, schema=schema)


class Seen(msgspec.Struct, frozen=True):
    """What one run of a query read, the members on which it ran, by their index, and its rows."""

    scans: tuple[ScanPruning, ...]
    members: frozenset[int]
    rows: Counter[str]


def run(connection: sqlfront.Connection, sql: str, arguments: Sequence[object] = ()) -> Seen:
    """One run as a job of the engine, whatever quicker way there may be."""
    session = connection.session
    given = Arguments.of(list(arguments), session.settings.time_zone)
    plan = plan_job(session.context, parse_query(sql), given)
    before = _submitted(connection)
    job = submit(session.context, plan, given.values)
    rows = Counter(repr(row) for batch in job.batches() for row in _rows(batch))
    after = _submitted(connection)
    ran = frozenset(index for index, (old, new) in enumerate(zip(before, after, strict=True)) if new > old)
    return Seen(scan_prunings(plan.template, given.values), ran, rows)


def answer(connection: sqlfront.Connection, sql: str, arguments: Sequence[object] = ()) -> Counter[str]:
    """What a user gets."""
    return Counter(map(repr, connection.execute(sql, list(arguments)).fetchall()))


def switch(connection: sqlfront.Connection, *, pruning: bool) -> None:
    """Turn pruning on or off."""
    connection.execute(f"SET sqlfront.pruning = {str(pruning).lower()}")


def partitions_of(keys: Sequence[Key], types: Sequence[pa.DataType]) -> frozenset[int]:
    """The partitions that keys belong to, by the hash over arrays."""
    columns = [
        pa.array([key[place] for key in keys], kind).cast(physical(kind)) for place, kind in enumerate(types)
    ]
    return frozenset(int(number) for number in partition_ids(columns, len(keys), DEFAULT_PARTITIONS))


def owners_of(connection: sqlfront.Connection, partitions: Sequence[int] | frozenset[int]) -> frozenset[int]:
    """The members that own partitions, by their index."""
    members = _cluster(connection).member_list
    return frozenset(members.data_members.index(members.owners[number]) for number in partitions)


def _cluster(connection: sqlfront.Connection) -> EmbeddedMembers:
    found = connection.session.cluster
    assert isinstance(found, EmbeddedMembers)
    return found


def _submitted(connection: sqlfront.Connection) -> list[int]:
    if connection.session.cluster is None:
        return [connection.session.engine.statistics().submitted]
    return [member.engine.statistics().submitted for member in _cluster(connection)._members.members]


def _rows(batch: pa.RecordBatch) -> list[tuple[object, ...]]:
    if not batch.num_columns:
        return [()] * batch.num_rows
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
