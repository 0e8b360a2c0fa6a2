"""The partition of a key by Spark's hash partitioning, ``pmod(hash(key columns), count)``.

The hash is Spark's ``Murmur3Hash`` with seed 42 (x86 32-bit murmur3, but the bytes after the last complete
word are mixed one at a time). The columns of a compound key are chained: the hash of a column is the seed of
the next column. A null leaves the seed unchanged, -0.0 hashes as 0.0, all NaNs hash alike. Tinyint, smallint,
int, date and boolean hash as int; bigint, times, timestamps, day-time intervals and decimals of up to 18
digits as long; other decimals as the bytes of their unscaled number.

There are two implementations: :func:`hash_columns` over Arrow arrays in physical form, vectorised in numpy (5
to 70 ns a value), and :func:`key_hasher` for single keys in plain Python (about 1 us a bigint).
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import numpy_view, to_python, valid_mask
from sqlfront_values.partitioning.scalar_hash import SEED, KeyHasher, key_hasher, value_hasher
from sqlfront_values.settings import DEFAULT_PARTITIONS
from sqlfront_values.types import MAX_SHORT_PRECISION

__all__ = ["DEFAULT_PARTITIONS", "SEED", "KeyHasher", "hash_columns", "key_hasher", "partition_ids"]

#: Rows hashed at a time, so that the intermediate arrays (64 KiB each) stay in the processor's cache.
_CHUNK: Final = 16_384

Hashes = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint32]
Positions = npt.NDArray[np.int64]

#: The constants of MurmurHash3_x86_32.
_C1: Final = np.uint32(0xCC9E2D51)
_C2: Final = np.uint32(0x1B873593)
_M5: Final = np.uint32(5)
_N: Final = np.uint32(0xE6546B64)
_F1: Final = np.uint32(0x85EBCA6B)
_F2: Final = np.uint32(0xC2B2AE35)


def partition_ids(columns: Sequence[pa.Array], length: int, count: int) -> npt.NDArray[np.int32]:
    """Return for each of ``length`` rows the partition of the row's key, 0 to ``count`` - 1. ``columns`` are
    the key's columns, in physical form.

    >>> partition_ids([pa.array([1, None, 3])], 3, 271).tolist()
    [131, 42, 154]
    """
    hashes = hash_columns(columns, length)
    return np.remainder(hashes, np.int32(count))


def hash_columns(columns: Sequence[pa.Array], length: int) -> npt.NDArray[np.int32]:
    """Return Spark's ``hash(columns...)`` of each of ``length`` rows; the columns are in physical form.
    Without columns every row's hash is the seed. Raises NotSupportedError for maps, which Spark doesn't hash
    either.

    >>> hash_columns([pa.array([1, None, 3]), pa.array(["a", "b", None])], 3).tolist()
    [573093329, 1905031361, 519220707]
    """
    hashes = np.full(length, SEED, np.uint32)
    for position, column in enumerate(columns):
        hashes = _hash_column(column, hashes, uniform=position == 0)
    return hashes.view(np.int32)


def seeded_hashes(column: pa.Array, seeds: Hashes) -> Hashes:
    """Return Spark's hash of each value of a column, each from a seed of its own; a null's hash is the
    seed."""
    return _hash_column(column, seeds, uniform=False)


def _hash_column(column: pa.Array, seeds: Hashes, *, uniform: bool) -> Hashes:
    """Hash the value of each row, with the row's seed as the start, and return the hashes; a null's hash is
    the seed. ``uniform`` is True if all seeds are equal: then equal values have equal hashes."""
    if len(column) == 0 or pa.types.is_null(column.type):
        return seeds
    if pa.types.is_dictionary(column.type):
        hashes = _hash_dictionary(column, seeds, uniform=uniform)
    else:
        hashes = _hash_plain(column, seeds)
    valid = valid_mask(column)
    return hashes if valid is None else np.where(valid, hashes, seeds)


def _hash_plain(column: pa.Array, seeds: Hashes) -> Hashes:
    """Hash the value of each row, with the row's seed as the start, in a column that isn't a dictionary;
    return the hashes, which are undefined for nulls."""
    data_type = column.type
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        data, starts, lengths = _byte_ranges(column)
        return _hash_bytes(data, starts, lengths, seeds)
    if pa.types.is_decimal128(data_type):
        return _hash_decimals(column, seeds)
    if pa.types.is_nested(data_type):
        return _hash_nested(column, seeds)
    values = _integers(column)
    words = values.view(np.uint32)
    if values.itemsize == 8:
        return _in_chunks(_hash_longs, words.reshape(-1, 2), seeds)
    return _in_chunks(_hash_ints, words.reshape(-1, 1), seeds)


def _integers(column: pa.Array) -> npt.NDArray[np.int32] | npt.NDArray[np.int64]:
    """Return for each value of a fixed-width column the int or long that Spark hashes for the value; the
    numbers of nulls are undefined."""
    data_type = column.type
    values = numpy_view(column)
    if pa.types.is_floating(data_type):
        return _canonical_bits(values)
    if values.itemsize == 8:
        return np.ascontiguousarray(values).view(np.int64)
    return np.ascontiguousarray(values.astype(np.int32, copy=False))


def _canonical_bits(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int32] | npt.NDArray[np.int64]:
    """Return the bits of floats as integers, with the same bits for 0.0 and -0.0, and the same bits for all
    NaNs. Only integer operations are used: float arithmetic warns of signalling NaNs."""
    if values.itemsize == 4:
        floats = values.view(np.int32).copy()
        magnitude = floats & np.int32(0x7FFF_FFFF)
        floats[magnitude == 0] = 0
        floats[magnitude > 0x7F80_0000] = 0x7FC0_0000
        return floats
    doubles = values.view(np.int64).copy()
    magnitudes = doubles & np.int64(0x7FFF_FFFF_FFFF_FFFF)
    doubles[magnitudes == 0] = 0
    doubles[magnitudes > 0x7FF0_0000_0000_0000] = 0x7FF8_0000_0000_0000
    return doubles


# ---- murmur3, vectorised


def _in_chunks(hash_words: Callable[[Words, Hashes], Hashes], words: Words, seeds: Hashes) -> Hashes:
    result = np.empty_like(seeds)
    for start in range(0, len(seeds), _CHUNK):
        stop = start + _CHUNK
        result[start:stop] = hash_words(words[start:stop], seeds[start:stop])
    return result


def _hash_ints(words: Words, seeds: Hashes) -> Hashes:
    hashes = seeds.copy()
    _mix(hashes, words[:, 0].copy())
    return _finish(hashes, np.uint32(4))


def _hash_longs(words: Words, seeds: Hashes) -> Hashes:
    hashes = seeds.copy()
    _mix(hashes, words[:, 0].copy())
    _mix(hashes, words[:, 1].copy())
    return _finish(hashes, np.uint32(8))


def _mix(hashes: Hashes, words: Words) -> None:
    """Mix a 32-bit word into each hash by a step of murmur3, in place; ``words``, one per hash, are
    overwritten."""
    words *= _C1
    _rotate(words, 15)
    words *= _C2
    hashes ^= words
    _rotate(hashes, 13)
    hashes *= _M5
    hashes += _N


def _rotate(values: Words, bits: int) -> None:
    high = values >> np.uint32(32 - bits)
    values <<= np.uint32(bits)
    values |= high


def _finish(hashes: Hashes, lengths: Hashes | np.uint32) -> Hashes:
    hashes ^= lengths
    hashes ^= hashes >> np.uint32(16)
    hashes *= _F1
    hashes ^= hashes >> np.uint32(13)
    hashes *= _F2
    hashes ^= hashes >> np.uint32(16)
    return hashes


def _hash_bytes(data: npt.NDArray[np.uint8], starts: Positions, lengths: Positions, seeds: Hashes) -> Hashes:
    """Hash byte strings, each with the seed of its row, and return the hashes; the bytes of each string are
    the range of ``data`` with the string's start and length."""
    result = np.empty_like(seeds)
    for start in range(0, len(seeds), _CHUNK):
        rows = slice(start, start + _CHUNK)
        result[rows] = _hash_some_bytes(data, starts[rows], lengths[rows], seeds[rows])
    return result


def _hash_some_bytes(
    data: npt.NDArray[np.uint8], starts: Positions, lengths: Positions, seeds: Hashes
) -> Hashes:
    hashes = seeds.copy()
    word_counts = lengths >> 2
    # Overlapping words at every byte offset: a view, not a copy.
    words = np.ndarray((max(len(data) - 3, 0),), np.dtype("<u4"), data, strides=(1,))
    for index in range(int(word_counts.max())):
        _mix_where(hashes, word_counts > index, lambda rows: words[starts[rows] + 4 * index])  # noqa: B023
    signed = data.view(np.int8)
    tails = starts + (word_counts << 2)
    tail_lengths = lengths & 3
    for index in range(int(tail_lengths.max())):
        _mix_where(
            hashes,
            tail_lengths > index,
            lambda rows: signed[tails[rows] + index].astype(np.int32).view(np.uint32),  # noqa: B023
        )
    return _finish(hashes, lengths.astype(np.uint32))


def _mix_where(
    hashes: Hashes, active: npt.NDArray[np.bool_], words_of: Callable[[slice | Positions], Words]
) -> None:
    """Mix a word into the hash of each row for which ``active`` is True, in place. ``words_of`` returns the
    words of the rows that it is given, as positions or as the slice of all rows."""
    if active.all():
        _mix(hashes, words_of(slice(None)))
        return
    rows = np.flatnonzero(active)
    some = hashes[rows]
    _mix(some, words_of(rows))
    hashes[rows] = some


# ---- columns of bytes


def _byte_ranges(column: pa.Array) -> tuple[npt.NDArray[np.uint8], Positions, Positions]:
    """Return the data buffer of a string or binary column as bytes, and the start and the length of each
    value in it."""
    _, offsets_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, len(column) + 1, 4 * column.offset).astype(np.int64)
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer is not None else np.zeros(0, np.uint8)
    return data, offsets[:-1], np.diff(offsets)


def _hash_dictionary(column: pa.Array, seeds: Hashes, *, uniform: bool) -> Hashes:
    """Hash the value of each row of a dictionary column, with the row's seed as the start; return the hashes.
    If ``uniform`` (all seeds are equal), each value of the dictionary is hashed once, else the value of each
    row."""
    codes = numpy_view(column.indices)
    valid = valid_mask(column.indices)
    if valid is not None:
        codes = np.where(valid, codes, 0)
    dictionary = column.dictionary
    if len(dictionary) == 0:
        return seeds
    if uniform:
        return _hash_column(dictionary, np.full(len(dictionary), seeds[0], np.uint32), uniform=True)[codes]
    data, starts, lengths = _byte_ranges(dictionary)
    hashes = _hash_bytes(data, starts[codes], lengths[codes], seeds)
    known = valid_mask(dictionary)
    return hashes if known is None else np.where(known[codes], hashes, seeds)


def _hash_decimals(column: pa.Array, seeds: Hashes) -> Hashes:
    """Hash the value of each row of a decimal128 column, with the row's seed as the start; return the hashes.
    Decimals of up to 18 digits hash as a long, others as the shortest big-endian two's complement of the
    unscaled number."""
    length = len(column)
    if column.type.precision <= MAX_SHORT_PRECISION:
        low = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset :: 2][:length].copy()
        return _in_chunks(_hash_longs, low.view(np.uint32).reshape(-1, 2), seeds)
    little = np.frombuffer(column.buffers()[1], np.uint8, 16 * length, 16 * column.offset).reshape(-1, 16)
    big = np.ascontiguousarray(little[:, ::-1])
    # A byte belongs to the number unless the byte and the sign bit after it only repeat the sign.
    sign = (big[:, 0].view(np.int8) >> 7).view(np.uint8)
    magnitude = big ^ sign[:, np.newaxis]
    first = np.argmax(magnitude != 0, axis=1)
    first_byte = magnitude[np.arange(length), first]
    lengths = np.where(first_byte == 0, 1, 16 - first + (first_byte >= 128))
    starts = 16 * np.arange(1, length + 1) - lengths
    return _hash_bytes(big.reshape(-1), starts, lengths, seeds)


def _hash_nested(column: pa.Array, seeds: Hashes) -> Hashes:
    """Hash the value of each row of a column of arrays or structs, with the row's seed as the start; return
    the hashes. Within a value, the hash of an element is the seed of the next element. Raises
    NotSupportedError for maps."""
    hash_value = value_hasher(column.type)
    values = to_python(column)
    hashes = [
        int(seed) if value is None else hash_value(value, int(seed))
        for value, seed in zip(values, seeds, strict=True)
    ]
    return np.array(hashes, np.uint32)
