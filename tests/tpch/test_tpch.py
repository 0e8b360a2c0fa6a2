"""TPC-H at scale 0.1: sqlfront gives Spark's answers, over Parquet files and from memory."""

from collections.abc import Iterator
from enum import Enum

import pytest
from _pytest.mark import ParameterSet

import sqlfront
from tests.oracle import processes
from tests.oracle.answers import Failure, difference
from tests.oracle.subject import Subject
from tests.tpch.answers import NAMES, expected, is_ordered, query
from tests.tpch.data import TABLES, tpch_folder


class Storage(Enum):
    """Where the tables' rows are: the number of members (0: three, each a process), and statements made for
    each table, of its name, key and file."""

    PARQUET = (1, "CREATE TABLE {table} USING parquet LOCATION '{path}'")
    CACHED = (*PARQUET, "CACHE TABLE {table}")
    CLUSTERED = (*PARQUET, "CACHE TABLE {table} CLUSTERED BY ({key})")
    SPREAD_PARQUET = (3, *PARQUET[1:])
    SPREAD = (3, *CLUSTERED[1:])
    PROCESSES_PARQUET = (0, *PARQUET[1:])
    PROCESSES = (0, *CLUSTERED[1:])


def _in_groups() -> Iterator[ParameterSet]:
    """Each storage is for one worker, so that its tables are made once."""
    for storage in Storage:
        name = storage.name.lower()
        yield pytest.param(storage, id=name, marks=pytest.mark.xdist_group(f"tpch {name}"))


@pytest.fixture(scope="module", params=_in_groups())
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    members, *statements = request.param.value
    config = sqlfront.Config(members=members, workers=members) if members else processes.config()
    with Subject(config) as subject:
        for table, key in TABLES.items():
            for statement in statements:
                path = tpch_folder() / f"{table}.parquet"
                outcome = subject.answer(statement.format(table=table, key=key, path=path))
                assert not isinstance(outcome, Failure), outcome
        yield subject
        if not members:
            processes.drop_all(subject.connection)


@pytest.mark.parametrize("name", NAMES)
def test_answer_is_sparks(subject: Subject, name: str) -> None:
    differs = difference(expected(name), subject.answer(query(name)), ordered=is_ordered(name))

    assert differs is None, differs
