"""Batches come back with their values, cut to what they hold, and nothing is sent twice."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_cluster.codec import BatchDecoder, BatchEncoder, EncodedBatch
from sqlfront_values.errors import InternalError, OperationalError
from tests.cluster.codec.values import LOGICAL, PHYSICAL

WORDS = pa.array([f"word {number % 500}" for number in range(10_000)] + [None])


def sent(encoded: EncodedBatch) -> tuple[bytes | None, pa.Buffer]:
    body = b"".join(encoded.body)
    assert len(body) == encoded.size
    return encoded.schema, pa.py_buffer(body)


def travel(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    encoder, decoder = BatchEncoder(), BatchDecoder()
    return [decoder.decode(*sent(encoder.encode(batch))) for batch in batches]


def one_column(column: pa.Array) -> pa.RecordBatch:
    return pa.record_batch([column], names=["c"])


def numbers(count: int) -> pa.RecordBatch:
    columns = [list(range(count)), [f"row {row}" if row % 3 else None for row in range(count)], [[1]] * count]
    return pa.record_batch(columns, names=["n", "s", "l"])


@pytest.mark.parametrize("data_type", [*LOGICAL, *PHYSICAL], ids=str)
def test_a_column_of_each_type_comes_back(data_type: pa.DataType) -> None:
    batches = [one_column(pa.nulls(rows, data_type)) for rows in (3, 0, 1)]

    assert travel(batches) == batches


@pytest.mark.parametrize("rows", [0, 1, 1000, 50_000])
def test_values_come_back_of_small_batches_and_large_ones(rows: int) -> None:
    (back,) = travel([numbers(rows)])

    assert back == numbers(rows)


def test_rows_without_columns_are_counted() -> None:
    batch = numbers(3).select([])

    assert travel([batch])[0].num_rows == 3


def test_the_schema_is_sent_when_it_changes() -> None:
    encoder = BatchEncoder()
    plain, coded = one_column(WORDS), one_column(WORDS.dictionary_encode())

    schemas = [encoder.encode(batch).schema is not None for batch in (plain, plain, coded, coded, plain)]

    assert schemas == [True, False, True, False, True]
    assert travel([plain, coded, coded, plain]) == [plain, coded, coded, plain]


def test_schemas_that_differ_are_never_taken_for_each_other() -> None:
    names, types = ("a", "b"), (pa.int64(), pa.int32(), pa.dictionary(pa.int32(), pa.string()))
    fields = [
        pa.field(name, kind, nullable) for name in names for kind in types for nullable in (True, False)
    ]
    schemas = [pa.schema([field]) for field in fields]
    schemas += [pa.schema([field], {"key": "value"}) for field in fields]
    for schema in schemas * 2:  # more than are remembered
        encoded = BatchEncoder().encode(pa.RecordBatch.from_pylist([{schema.names[0]: None}], schema=schema))
        assert encoded.schema == schema.serialize().to_pybytes()


def test_a_slice_sends_its_rows_only() -> None:
    batch = numbers(50_000)

    assert BatchEncoder().encode(batch.slice(40_000, 1)).size < 1000
    assert travel([batch.slice(40_000, 5)]) == [batch.slice(40_000, 5)]


def test_what_is_received_is_read_in_place() -> None:
    encoded = BatchEncoder().encode(numbers(1000))
    schema, body = sent(encoded)

    column = BatchDecoder().decode(schema, body).column(0)

    assert body.address <= column.buffers()[1].address < body.address + body.size


# ---- dictionaries


def test_a_dictionary_is_sent_once() -> None:
    batch = one_column(WORDS.dictionary_encode())
    encoder = BatchEncoder()
    first, second = encoder.encode(batch.slice(0, 5000)), encoder.encode(batch.slice(5000))

    assert first.size > second.size + 5000  # bytes of the 500 words
    assert travel([batch.slice(0, 5000), batch.slice(5000)]) == [batch.slice(0, 5000), batch.slice(5000)]


def test_another_dictionary_takes_its_place() -> None:
    batches = [one_column(WORDS.slice(start, 2000).dictionary_encode()) for start in (0, 100, 0)]

    assert travel(batches) == batches


def test_of_a_dictionary_much_larger_than_the_batch_only_what_it_uses_is_sent_at_first() -> None:
    batch = one_column(WORDS.dictionary_encode())
    pieces = [batch.slice(start, 2) for start in (0, 9_999, 600)]
    encoder = BatchEncoder()

    sizes = [encoder.encode(piece).size for piece in pieces]

    assert sizes[0] < 1000  # two words
    assert sizes[1] > 5000  # all of them
    assert sizes[2] < 500  # no word
    assert [piece.to_pydict() for piece in travel(pieces)] == [piece.to_pydict() for piece in pieces]


def test_dictionaries_and_plain_columns_stand_side_by_side() -> None:
    coded = WORDS.dictionary_encode()
    other = pa.array(["x", None, "y"] * 3333 + ["x", "z"]).dictionary_encode()
    batch = pa.record_batch([coded, WORDS, other, coded], names=list("abcd"))

    assert travel([batch, batch.slice(3, 10), batch.slice(0, 0)]) == [
        batch,
        batch.slice(3, 10),
        batch.slice(0, 0),
    ]


def test_a_dictionary_inside_of_a_list_is_refused() -> None:
    column = pa.ListArray.from_arrays(pa.array([0, 2]), pa.array(["a", "b"]).dictionary_encode())

    with pytest.raises(InternalError, match="dictionaries inside"):
        BatchEncoder().encode(one_column(column))


# ---- hostile bytes


def test_a_batch_before_any_schema_is_refused() -> None:
    _, body = sent(BatchEncoder().encode(numbers(1)))

    with pytest.raises(OperationalError, match="no schema"):
        BatchDecoder().decode(None, body)


def test_a_batch_without_its_dictionary_is_refused() -> None:
    batch = one_column(WORDS.dictionary_encode())
    encoder = BatchEncoder()
    schema, _ = sent(encoder.encode(batch))
    _, without = sent(encoder.encode(batch))

    with pytest.raises(OperationalError, match="without its dictionary"):
        BatchDecoder().decode(schema, without)


@pytest.mark.parametrize("rows", [10, 10_000])
def test_offsets_that_fall_are_refused(rows: int) -> None:
    offsets = pa.array([0, 60, *range(2, rows)], pa.int32())
    column = pa.Array.from_buffers(
        pa.string(), rows - 1, [None, offsets.buffers()[1], pa.py_buffer(bytes(rows))]
    )

    with pytest.raises(OperationalError, match="malformed batch"):
        travel([one_column(column)])


def test_codes_outside_of_the_dictionary_are_refused() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), pa.array(["a"]), safe=False)
    encoder, decoder = BatchEncoder(), BatchDecoder()

    with pytest.raises(OperationalError, match="malformed batch"):
        decoder.decode(*sent(encoder.encode(one_column(column))))


def test_a_body_of_another_schema_is_refused() -> None:
    _, body = sent(BatchEncoder().encode(numbers(3)))
    schema = pa.schema([("n", pa.int64()), ("s", pa.int64())]).serialize().to_pybytes()

    with pytest.raises(OperationalError):
        BatchDecoder().decode(schema, body)
    with pytest.raises(OperationalError):
        BatchDecoder().decode(b"no schema", body)


@given(st.data())
def test_a_damaged_body_is_a_valid_batch_or_an_operational_error(data: st.DataObject) -> None:
    columns = [WORDS.slice(0, 40).dictionary_encode(), *numbers(40).columns]
    schema, body = sent(BatchEncoder().encode(pa.record_batch(columns, names=list("abcd"))))
    damaged = bytearray(body)
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=4)):
        damaged[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)) | st.none())

    try:
        BatchDecoder().decode(schema, bytes(damaged[:cut])).validate(full=True)
    except OperationalError:
        pass
