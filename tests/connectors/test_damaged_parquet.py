"""Damaged Parquet files: what Arrow would believe, or die of, is refused before Arrow is asked."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_connectors.files.parquet.footer import read_footer
from sqlfront_values.errors import Error, NotSupportedError, OperationalError

#: A field's header of the type i32 two fields on, and the same of the type i16.
REPETITION, LOST = b"%\x02\x18\x01a", b"$\x02\x18\x01a"


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """Two row groups of two columns."""
    table = pa.table({"a": pa.array([1, None, 3], pa.int32()), "b": ["x", "y", None]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    return (tmp_path / "a.parquet").read_bytes()


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(Config()) as session:
        yield session


def read(session: Session, path: Path, content: bytes, where: str = "") -> list[object]:
    path.write_bytes(content)
    return list(session.execute(f"SELECT * FROM parquet.`{path}` {where}").collect())


def footer_of(whole: bytes) -> range:
    """Where the footer's bytes are."""
    end = len(whole) - 8
    return range(end - int.from_bytes(whole[end : end + 4], "little"), end)


def test_a_footer_that_ends_arrows_process_is_refused(tmp_path: Path, session: Session, whole: bytes) -> None:
    assert whole.count(REPETITION) == 1

    with pytest.raises(NotSupportedError, match="damaged footer: its field 3 is of another type"):
        read(session, tmp_path / "a.parquet", whole.replace(REPETITION, LOST))


@pytest.mark.parametrize("bit", [0, 2, 7])
def test_no_changed_byte_of_a_footer_ends_the_process(
    tmp_path: Path, session: Session, whole: bytes, bit: int
) -> None:
    for place in footer_of(whole):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        with contextlib.suppress(Error):
            read(session, tmp_path / "a.parquet", bytes(content), "WHERE a > 2 AND b IS NOT NULL")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (b"\x19\x18\x01a\x15", b"\x19\x18\x01z\x15", "a row group's column is not the schema's"),
        (b"\x19\x18\x01a\x15\x02", b"\x19\x18\x01a\x15\x20", "a column's compression is 16"),
        (b"\x19\x18\x01a\x15\x02\x16\x04", b"\x19\x18\x01a\x15\x02\x16\x08", "2 rows has 4 values"),
        # A converted type that is not that of the logical type: Spark takes the first, Arrow the second.
        (b"%\x00\x4c\x1c\x00", b"%\x08\x4c\x1c\x00", "converted type is not that of its logical type"),
        # The orders of columns: a union of Thrift's with two fields, and one without any.
        (b"\x19\x2c\x1c\x00\x00", b"\x19\x2c\x1c\x00\x01", "a column order is invalid"),
        (b"\x19\x2c\x1c\x00\x00\x1c\x00", b"\x19\x2c\x1c\x00\x00\x00\x00", "a column order is invalid"),
        # Headers of pages: the encodings of levels and of values, the number of values, the kind.
        (b"\x15\x06\x15\x06\x1c", b"\x15\x06\x15\x07\x1c", "the encoding of a page's levels is unknown"),
        (b"\x15\x04\x15\x10\x15\x06", b"\x15\x04\x15\x02\x15\x06", "a page's encoding is 1"),
        (b"\x15\x04\x15\x10\x15\x06", b"\x15\x02\x15\x10\x15\x06", "a column's pages hold 1 values, not 2"),
        (b"\x15\x00\x15", b"\x15\x09\x15", "a page is of the kind -5"),
        # Levels with more bits than their column has: Spark reads the rows.
        (b"\x02\x00\x00\x00\x04\x01", b"\x02\x00\x00\x00\x04\x11", "Malformed levels"),
        # A key of the footer without a value.
        (b"ARROW:schema\x18", b"_____:schema\x28", "lacks the text 2"),
    ],
)
def test_what_spark_refuses_in_a_file_is_refused(
    tmp_path: Path, session: Session, whole: bytes, before: bytes, after: bytes, words: str
) -> None:
    """Or reads, as levels with more bits. Arrow's reader takes most of it."""
    assert before in whole

    with pytest.raises(NotSupportedError, match=words):
        read(session, tmp_path / "a.parquet", whole.replace(before, after, 1))


def test_of_a_damaged_row_group_spark_tells_when_it_reads(
    tmp_path: Path, session: Session, whole: bytes
) -> None:
    """Not when it looks for the columns, as Arrow does: of the description of a column the number is gone."""
    with pytest.raises(NotSupportedError, match="footer that Arrow can't read"):
        read(session, tmp_path / "a.parquet", whole.replace(b"\x19\x18\x01a\x15", b"\x19\x18\x01a\x13", 1))


def test_bytes_that_are_no_text_are_not_read_as_text(tmp_path: Path, session: Session) -> None:
    pq.write_table(pa.table({"a": [b"\xff"]}), tmp_path / "a.parquet")
    session.execute(f"CREATE TEMPORARY VIEW v (a STRING) USING parquet OPTIONS (path '{tmp_path}')")

    with pytest.raises(NotSupportedError, match="no UTF-8"):
        session.execute("SELECT * FROM v").collect()


def test_a_type_and_a_page_that_are_wrong_are_refused(tmp_path: Path, session: Session, whole: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(whole[:4] + bytes(40) + whole[44:])
    session.execute(f"CREATE TEMPORARY VIEW v (a STRING) USING parquet OPTIONS (path '{tmp_path}')")

    with pytest.raises(NotSupportedError, match=r"damaged page: a page.s header is incomplete"):
        session.execute("SELECT * FROM v").collect()


def test_a_footer_tells_of_its_row_groups(tmp_path: Path, whole: bytes) -> None:
    first, second = read_footer(str(tmp_path / "a.parquet"))

    assert (first.rows, second.rows) == (2, 1)
    number, text = first.chunks
    assert (number.codec, number.values, number.nulls, number.minimum) == ("SNAPPY", 2, 1, b"\1\0\0\0")
    assert (text.nulls, text.minimum, text.maximum) == (0, b"x", b"y")


def test_a_file_cut_within_its_footer_is_named(tmp_path: Path, session: Session, whole: bytes) -> None:
    with pytest.raises(OperationalError, match="Could not read footer") as caught:
        read(session, tmp_path / "a.parquet", whole[:-6])
    assert caught.value.condition == "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY"


@pytest.mark.parametrize("use_dictionary", [True, False])
def test_a_row_group_without_rows_has_no_place(
    tmp_path: Path, session: Session, use_dictionary: bool
) -> None:
    table = pa.table({"a": pa.array([], pa.int64())})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=use_dictionary)

    assert session.execute(f"SELECT * FROM parquet.`{tmp_path}`").dtypes == [("a", "bigint")]
    assert session.execute(f"SELECT * FROM parquet.`{tmp_path}`").collect() == []


def test_a_decimal_of_two_precisions_is_refused(tmp_path: Path, session: Session) -> None:
    pq.write_table(pa.table({"a": pa.array([None], pa.decimal128(5, 2))}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    precision = b"\x15\x04\x15\x0a\x00"
    assert content.count(precision) == 1

    with pytest.raises(NotSupportedError, match="other digits than its converted type"):
        read(session, tmp_path / "a.parquet", content.replace(precision, b"\x15\x04\x15\x08\x00"))
