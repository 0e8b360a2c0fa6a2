"""Every condition of the planner's cases: which partitions, which members, and the same rows as without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlfront
from tests.planner.pruning.cases import SCHEMA
from tests.planner.pruning.conditions import ALL_KEYS, EXACT, Case, name
from tests.sqlfront.pruning.tables import create, table_of
from tests.sqlfront.pruning.trials import (
    answer,
    owners_of,
    partitions_of,
    random_rows,
    run,
    switch,
)

CASES = [case for case in (*EXACT, *ALL_KEYS) if "rand()" not in case.where]
KEYS = list(dict.fromkeys(case.keys for case in CASES))


@pytest.fixture(scope="module", params=[1, 3], ids=["1 member", "3 members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=1) as connection:
        create(connection, random_rows(SCHEMA, 300, seed=1), KEYS)
        yield connection


@pytest.mark.parametrize("case", CASES, ids=name)
def test_partitions_members_and_rows(connection: sqlfront.Connection, case: Case) -> None:
    sql = f"SELECT * FROM {table_of(case.keys)} WHERE {case.where}"
    switch(connection, pruning=True)
    try:
        pruned = run(connection, sql, case.arguments)
        answered = answer(connection, sql, case.arguments)
    except sqlfront.DataError:
        # Fails on its rows, then: with pruning fewer conditions are evaluated, never more.
        switch(connection, pruning=False)
        with pytest.raises(sqlfront.DataError):
            run(connection, sql, case.arguments)
        return

    # A plan without a scan needs no partition.
    assert pruned.scans or case.expected == [], pruned
    if case.expected is not None and pruned.scans:
        (scan,) = pruned.scans
        keys = [item if isinstance(item, tuple) else (item,) for item in case.expected]
        types = [SCHEMA.field(column).type for column in case.keys.split(", ")]
        required = partitions_of(keys, types)
        assert scan.partitions == tuple(sorted(required))
        assert scan.of_partitions == 271
        assert scan.columns == tuple(case.keys.split(", "))
        if connection.session.cluster is not None:
            assert pruned.members == owners_of(connection, required) | {0}
    elif pruned.scans:
        assert all(scan.keys is None and scan.partitions is None for scan in pruned.scans)

    switch(connection, pruning=False)
    try:
        whole = run(connection, sql, case.arguments)
    except sqlfront.DataError:
        assert case.where.count("cast") or case.arguments
        return
    assert pruned.rows == whole.rows
    assert answered == answer(connection, sql, case.arguments)
    if connection.session.cluster is not None and whole.scans:
        assert whole.members == {0, 1, 2}
