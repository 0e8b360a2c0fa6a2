"""Checks of the runs of values in ORC's streams (ORC's specification, "Run Length Encoding").

A run that goes beyond the end of its stream is an error in Spark's reader but not always in Arrow's, and
Arrow ends the process for negative lengths.
"""

from collections.abc import Collection, Iterator
from itertools import accumulate
from typing import Final

import numpy as np

from sqlfront_connectors.files.varints import MalformedData, read_varint

#: The bit widths of values by their codes in a run's header.
_WIDTHS: Final = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)


def check_byte_runs(data: bytes) -> None:
    """Raise MalformedData if the last run in a stream of bytes goes beyond the end of the stream. ``data``:
    the uncompressed stream.

    >>> check_byte_runs(bytes([0x61, 0x00, 0xFE, 0x44, 0x45]))
    """
    at = 0
    while at < len(data):
        head = data[at]
        at += 2 if head < 128 else 257 - head
    _check_end(at, data)


def check_first_runs(data: bytes) -> None:
    """Raise MalformedData if the last run in a stream of integers goes beyond the end of the stream.
    ``data``: the uncompressed stream, in version 1 of ORC's run-length encoding.

    >>> check_first_runs(bytes([0x61, 0x00, 0x07, 0xFE, 0x80, 0x01, 0x02]))
    """
    ends, at = _ends(data), 0
    while at < len(data):
        head = data[at]
        numbers = _numbers(ends, at + 2, 1) if head < 128 else _numbers(ends, at + 1, 256 - head)
        at = int(numbers[-1])


def total_length(data: bytes, *, is_second: bool, exact: bool = False) -> int:
    """Return the sum of the lengths in an uncompressed stream of lengths; without ``exact`` perhaps only an
    upper bound, which is quicker. ``is_second``: whether the stream is in version 2 of ORC's run-length
    encoding, else version 1. Raises MalformedData if the last run goes beyond the end of the stream, or a
    length is negative.

    >>> total_length(bytes([0x61, 0x00, 0x07]), is_second=False)
    700
    >>> total_length(bytes([0x0A, 0x27, 0x10]), is_second=True, exact=True)
    50000
    """
    return (_second if is_second else _first)(data, exact=exact)


def check_range(data: bytes, most: int, *, is_second: bool) -> None:
    """Check an uncompressed stream of signed integers. ``is_second``: whether the stream is in version 2 of
    ORC's run-length encoding, else version 1. Raises MalformedData if the last run goes beyond the end of the
    stream, or an integer is not between 0 and ``most``; IndexError if the stream ends within a run's header
    or a number.

    >>> check_range(bytes([0x61, 0x00, 0x04]), 2, is_second=False)
    >>> check_range(bytes([0x02, 0x04]), 2, is_second=True)
    """
    at = 0
    while at < len(data):
        least, greatest, at = (_second_range if is_second else _first_range)(data, at)
        if least < 0 or greatest > most:
            raise MalformedData(
                f"the integers of a run are between {least} and {greatest}, not between 0 and {most}"
            )
    _check_end(at, data)


def _signed(stored: int) -> int:
    """Decode a signed integer from ORC's zigzag form, an unsigned number whose lowest bit is the sign."""
    return stored >> 1 ^ -(stored & 1)


def _first_range(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the least and the greatest integer of the run that begins at the index ``at``, and the index
    after the run. The run is in version 1 of the encoding."""
    head = data[at]
    if head < 128:
        step = int.from_bytes(data[at + 1 : at + 2], signed=True)
        stored, end = read_varint(data, at + 2)
        first = _signed(stored)
        return *_range_of((first, first + step * (head + 2))), end
    numbers, end = [], at + 1
    for _ in range(256 - head):
        stored, end = read_varint(data, end)
        numbers.append(_signed(stored))
    return *_range_of(numbers), end


def _second_range(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the least and the greatest integer of the run that begins at the index ``at``, and the index
    after the run. The run is in version 2 of the encoding."""
    head = data[at]
    if head < 64:
        end = at + 2 + (head >> 3)
        value = _signed(int.from_bytes(data[at + 1 : end]))
        return value, value, end
    width, count = _WIDTHS[head >> 1 & 31], ((head & 1) << 8 | data[at + 1]) + 1
    at += 2
    if head < 128:
        end = at + (count * width + 7 >> 3)
        return *_range_of({_signed(stored) for stored in set(_values(data[at:end], count, width))}), end
    if head < 192:
        values, end = _patched_values(data, at, count, width)
        return *_range_of(values), end
    first, at = read_varint(data, at)
    first_step, at = read_varint(data, at)
    base, step = _signed(first), _signed(first_step)
    if not head >> 1 & 31:
        return *_range_of((base, base + step * (count - 1))), at
    end = at + ((count - 2) * width + 7 >> 3)
    last = base + step + (1 if step >= 0 else -1) * sum(_values(data[at:end], count - 2, width))
    return *_range_of((base, base + step, last)), end


def _range_of(values: Collection[int]) -> tuple[int, int]:
    return min(values), max(values)


def _patched_values(data: bytes, at: int, count: int, width: int) -> tuple[list[int], int]:
    """Return the integers of a run of ORC's kind "Patched Base", and the index after the run. Each integer is
    a base plus a stored value, and a list of patches adds higher bits to some stored values. ``at``: the
    index after the first two bytes of the run's header. ``count`` and ``width``: the number of stored values
    and the bits of each. Raises MalformedData for a patch beyond the last value."""
    base_bytes, patch, gap = (data[at] >> 5) + 1, _WIDTHS[data[at] & 31], (data[at + 1] >> 5) + 1
    patches = data[at + 1] & 31
    at += 2 + base_bytes
    stored_base = int.from_bytes(data[at - base_bytes : at])
    sign_bit = 1 << 8 * base_bytes - 1
    base = -(stored_base ^ sign_bit) if stored_base & sign_bit else stored_base
    middle = at + (count * width + 7 >> 3)
    stored = next(stored for stored in (*_WIDTHS, 128) if stored >= patch + gap)
    end = middle + (patches * stored + 7 >> 3)
    values = list(_values(data[at:middle], count, width))
    place = 0
    for entry in _values(data[middle:end], patches, stored):
        place += entry >> patch
        if place >= count:
            raise MalformedData("a run adds bits to more values than it has")
        values[place] |= (entry & (1 << patch) - 1) << width
    return [base + value for value in values], end


def _ends(data: bytes) -> np.ndarray:
    """Return, as an array, the index after each byte without a continuation bit: where a number of variable
    length would end if the data were nothing but such numbers."""
    return np.flatnonzero(np.frombuffer(data, np.uint8) < 128) + 1


def _numbers(ends: np.ndarray, at: int, count: int) -> np.ndarray:
    """Return the indices after each of ``count`` consecutive numbers of variable length, of which the first
    begins at the index ``at``. ``ends``: the result of :func:`_ends`. Raises MalformedData if the data have
    fewer numbers."""
    found = ends[ends.searchsorted(at, "right") :][:count]
    if len(found) < count:
        raise MalformedData("a run is longer than its stream")
    return found


def _first(data: bytes, *, exact: bool) -> int:
    ends, at, total = _ends(data), 0, 0
    while at < len(data):
        head = data[at]
        if head < 128:
            step = int.from_bytes(data[at + 1 : at + 2], signed=True)
            base, at = read_varint(data, at + 2)
            total += _sum_of_steps(base, step, head + 3)
            continue
        first, count = at + 1, 256 - head
        numbers = _numbers(ends, first, count)
        at = int(numbers[-1])
        if exact:
            total += sum(read_varint(data, start)[0] for start in [first, *numbers[:-1].tolist()])
        else:
            total += count << 7 * int(np.diff(numbers, prepend=first).max())
    return total


def _second(data: bytes, *, exact: bool) -> int:
    at, size, total = 0, len(data), 0
    while at < size:
        head = data[at]
        if head < 64:  # one value, of so many bytes, several times
            width = (head >> 3) + 1
            at += 1 + width
            total += ((head & 7) + 3) * int.from_bytes(data[at - width : at])
            continue
        width, count = _WIDTHS[head >> 1 & 31], ((head & 1) << 8 | data[at + 1]) + 1
        at += 2
        if head < 128:  # the values one after the other
            start, at = at, at + (count * width + 7 >> 3)
            total += sum(_values(data[start:at], count, width)) if exact else count << width
        elif head < 192:
            values, at = _patched_values(data, at, count, width)
            if min(values) < 0:
                raise MalformedData("a length is below 0")
            total += sum(values)
        else:
            added, at = _delta(data, at, count, width if head >> 1 & 31 else 0)
            total += added
    _check_end(at, data)
    return total


def _delta(data: bytes, at: int, count: int, width: int) -> tuple[int, int]:
    """Return the sum of a run of ORC's kind "Delta", which holds lengths, and the index after the run. The
    run has a first value, a first step and, unless ``width`` is 0, the sizes of all other steps in ``width``
    bits each; with ``width`` 0 all steps are equal. ``count``: the number of values. Raises MalformedData for
    a negative length."""
    base, at = read_varint(data, at)
    zigzag, at = read_varint(data, at)
    step = (zigzag >> 1) ^ -(zigzag & 1)
    if count < 2:
        raise MalformedData("a run of steps has no step")
    if not width:
        return _sum_of_steps(base, step, count), at
    end = at + ((count - 2) * width + 7 >> 3)
    sign = 1 if step >= 0 else -1
    steps = (sign * value for value in _values(data[at:end], count - 2, width))
    values = list(accumulate(steps, initial=base + step))
    if values[-1] < 0:
        raise MalformedData("a length is below 0")
    return base + sum(values), end


def _sum_of_steps(base: int, step: int, count: int) -> int:
    last = base + step * (count - 1)
    if last < 0:
        raise MalformedData("a length is below 0")
    return (base + last) * count // 2


def _values(packed: bytes, count: int, width: int) -> Iterator[int]:
    """Return an iterator over ``count`` unsigned numbers of ``width`` bits each, which are packed one after
    the other from the highest bit on. Bits after the last number are ignored."""
    bits, mask, size = int.from_bytes(packed), (1 << width) - 1, 8 * len(packed)
    return (bits >> size - width * number & mask for number in range(1, count + 1))


def _check_end(at: int, data: bytes) -> None:
    if at != len(data):
        raise MalformedData("a run is longer than its stream")
