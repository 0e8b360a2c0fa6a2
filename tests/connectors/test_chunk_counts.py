"""Chunks of spread tables that a scan skips, as their owners count them."""

from collections.abc import Iterator

import msgspec
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlfront_connectors.base import ScanPieces, ScanRequest, insert_all
from sqlfront_connectors.memory.spread.chunk_counts import ChunkCount, decode_count, encode_count
from sqlfront_connectors.memory.spread.store import decode_question
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_values.errors import OperationalError
from sqlfront_values.expressions import Call, Column, Expr, Literal
from sqlfront_values.types import BIGINT, BOOLEAN, STRING
from tests.connectors.test_spread import MEMBERS, Members

HERE = MEMBERS[0]
SCHEMA = pa.schema([("n", BIGINT)])
ROWS = 4 * BATCH_ROWS


@pytest.fixture(scope="module")
def members() -> Iterator[Members]:
    members = Members()
    with members.cluster:
        yield members


@pytest.fixture(scope="module")
def spread(members: Members) -> SpreadTable:
    """Whole batches go to the members in turn."""
    spread = SpreadTable("t", SCHEMA, None, members)
    numbers = pa.array(range(ROWS), BIGINT)
    insert_all(
        spread,
        [
            pa.record_batch([numbers.slice(start, BATCH_ROWS)], schema=SCHEMA)
            for start in range(0, ROWS, BATCH_ROWS)
        ],
    )
    return spread


def call(function: str, ordinal: int, value: object, kind: pa.DataType = BIGINT) -> Expr:
    return Call(BOOLEAN, function, (Column(kind, ordinal), Literal(kind, value)))


@pytest.mark.parametrize(
    ("filters", "read"),
    [
        ((), 4),
        ((call("less", 0, 10),), 1),
        ((call("less", 0, 10), call("greater", 0, ROWS - 1)), 0),
        ((call("not_equal", 0, 10),), 4),
        ((call("greater_equal", 0, BATCH_ROWS),), 3),
    ],
)
def test_owners_count_what_is_skipped(spread: SpreadTable, filters: tuple[Expr, ...], read: int) -> None:
    assert spread.snapshot().pieces(ScanRequest((0,), filters)) == (ScanPieces("chunks", read, 4),)


def test_nothing_is_counted_where_rows_are_found_by_keys(spread: SpreadTable) -> None:
    assert spread.snapshot().pieces(ScanRequest((0,), keys=((1,),), by=(0,))) == ()


def test_a_table_without_rows_has_no_chunks(members: Members) -> None:
    assert SpreadTable("t", SCHEMA, None, members).snapshot().pieces(ScanRequest((0,))) == (
        ScanPieces("chunks", 0, 0),
    )


# ---- hostile questions


def question(spread: SpreadTable, *filters: Expr, dealt: int = 0) -> bytes:
    key = spread.snapshot().held.key
    assert key is not None
    return encode_count(key, "t", dealt, filters)


@pytest.mark.parametrize("ordinal", [-5, 1, 10**9])
def test_columns_that_the_table_has_not(members: Members, spread: SpreadTable, ordinal: int) -> None:
    with pytest.raises(OperationalError, match="malformed filter"):
        members.stores[HERE].answer(question(spread, call("equal", ordinal, 5)))


def test_values_of_another_type_skip_nothing(members: Members, spread: SpreadTable) -> None:
    read, total = decode_count(members.stores[HERE].answer(question(spread, call("less", 0, "5", STRING))))

    assert read == total


def test_other_partitions(members: Members, spread: SpreadTable) -> None:
    with pytest.raises(OperationalError, match="have moved"):
        members.stores[HERE].answer(question(spread, dealt=9))


@given(places=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_questions_are_refused_or_answered(
    members: Members, spread: SpreadTable, places: list[tuple[int, int]]
) -> None:
    content = bytearray(question(spread, call("less", 0, 5), call("equal", 0, 7)))
    for place, value in places:
        content[place % len(content)] = value
    try:
        answer = members.stores[HERE].answer(bytes(content))
    except OperationalError:
        return
    if isinstance(decode_question(bytes(content)), ChunkCount):
        read, total = decode_count(answer)
        assert 0 <= read <= total


@pytest.mark.parametrize("answer", [b"", b"\xc0", msgspec.msgpack.encode((1,)), msgspec.msgpack.encode("no")])
def test_answers_that_are_none(answer: bytes) -> None:
    with pytest.raises(OperationalError, match="malformed count"):
        decode_count(answer)
