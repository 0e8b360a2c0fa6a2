"""Rows as Python values come back as they were, by the types of their columns."""

import datetime
from contextlib import suppress
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_cluster.codec.rows import Row, encode_rows, groups_decoder, rows_decoder
from sqlfront_values.errors import InterfaceError, OperationalError
from tests.cluster.codec.values import LOGICAL, values

BEGIN, END = datetime.datetime.min, datetime.datetime.max


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[pa.DataType], list[Row]]:
    types = draw(st.lists(st.sampled_from(LOGICAL), max_size=4))
    return types, draw(st.lists(st.tuples(*map(values, types)), max_size=3))


@given(tables())
def test_rows_come_back(table: tuple[list[pa.DataType], list[Row]]) -> None:
    types, rows = table

    assert repr(rows_decoder(types)(encode_rows(rows))) == repr(rows)  # NaN equals nothing
    assert repr(groups_decoder(types)(encode_rows([rows, [], rows]))) == repr([rows, [], rows])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.timestamp("us", tz="UTC"), BEGIN.replace(tzinfo=datetime.UTC)),
        (pa.timestamp("us", tz="UTC"), END.replace(tzinfo=datetime.UTC)),
        (pa.timestamp("us"), BEGIN),
        (pa.timestamp("us"), END),
        (pa.date32(), datetime.date.min),
        (pa.decimal128(38, 2), Decimal("0E-2")),
        (pa.decimal128(38, 0), Decimal(10**38 - 1)),
        (pa.int64(), -(2**63)),
        (pa.float64(), float("-inf")),
        (pa.string(), "\x00\U0001f600"),
        (pa.duration("us"), datetime.timedelta(days=-1, microseconds=1)),
    ],
    ids=str,
)
def test_values_at_the_edges_come_back(kind: pa.DataType, value: object) -> None:
    ((back,),) = rows_decoder([kind])(encode_rows([(value,)]))

    assert repr(back) == repr(value)


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        (pa.int8(), (200,)),
        (pa.int64(), ("1",)),
        (pa.string(), (1,)),
        (pa.date32(), ("2024-02-30",)),
        (pa.timestamp("us"), (datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),)),
        (pa.list_(pa.int8()), ([200],)),
        (pa.int32(), ()),
        (pa.int32(), (1, 2)),
    ],
    ids=str,
)
def test_values_of_other_types_are_refused(kind: pa.DataType, row: Row) -> None:
    with pytest.raises(OperationalError, match="malformed row") as caught:
        rows_decoder([kind])(encode_rows([row]))

    assert caught.value.sqlstate == "08P01"


@given(st.binary(max_size=40))
def test_other_bytes_are_refused_or_are_rows(data: bytes) -> None:
    for decode in (rows_decoder([pa.int32(), pa.list_(pa.string())]), groups_decoder([pa.date32()])):
        with suppress(OperationalError):
            assert isinstance(decode(data), list)


def test_what_is_no_value_cannot_be_sent() -> None:
    with pytest.raises(InterfaceError, match="can't be sent"):
        encode_rows([(object(),)])
