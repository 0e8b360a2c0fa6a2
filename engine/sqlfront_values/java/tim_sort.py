"""Java's sort of objects by a comparator (``java.util.TimSort`` of JDK 17).

A comparator of the user may be inconsistent, such as one that is never 0: the order then depends on the pairs
that the algorithm compares. Therefore the algorithm is the same one, comparison by comparison. A sort is a
generator: it yields pairs to compare, and is sent the comparator's results. So the caller can compare the
pairs of many sorts at once.
"""

from collections.abc import Generator
from typing import Final, TypeAlias

#: Yields pairs (left, right) of items, and is sent a number: negative if left is less, positive if greater.
Comparing: TypeAlias = Generator[tuple[int, int], int, None]
#: The same, with a result.
Searching: TypeAlias = Generator[tuple[int, int], int, int]

_MIN_MERGE: Final = 32
_MIN_GALLOP: Final = 7


class InconsistentOrder(Exception):
    """The error of a comparator of which the sort finds that it contradicts itself."""


def tim_sort(items: list[int]) -> Comparing:
    """Sort the items in place. Raises InconsistentOrder where Java finds that the "comparison method violates
    its general contract"."""
    count = len(items)
    if count < 2:
        return
    if count < _MIN_MERGE:
        length = yield from _ascending_run(items, 0, count)
        yield from _binary_sort(items, 0, count, length)
        return
    runs = _Runs(items)
    least, start = _least_run(count), 0
    while start < count:
        length = yield from _ascending_run(items, start, count)
        if length < least:
            forced = min(count - start, least)
            yield from _binary_sort(items, start, start + forced, start + length)
            length = forced
        runs.stack.append((start, length))
        yield from runs.collapse()
        start += length
    yield from runs.collapse_all()


def _least_run(count: int) -> int:
    """Return the least length of a run, which :func:`_binary_sort` extends shorter ones to."""
    odd = 0
    while count >= _MIN_MERGE:
        odd |= count & 1
        count >>= 1
    return count + odd


def _ascending_run(items: list[int], start: int, end: int) -> Searching:
    """Return the length of the run that begins at ``start``; a strictly descending run is reversed."""
    behind = start + 1
    if behind == end:
        return 1
    descends = (yield items[behind], items[start]) < 0
    behind += 1
    while behind < end and ((yield items[behind], items[behind - 1]) < 0) == descends:
        behind += 1
    if descends:
        items[start:behind] = items[start:behind][::-1]
    return behind - start


def _binary_sort(items: list[int], start: int, end: int, first: int) -> Comparing:
    """Sort a range whose items before ``first`` are sorted, by binary insertion."""
    for place in range(max(first, start + 1), end):
        pivot = items[place]
        left, right = start, place
        while left < right:
            middle = (left + right) >> 1
            if (yield pivot, items[middle]) < 0:
                right = middle
            else:
                left = middle + 1
        items[left + 1 : place + 1] = items[left:place]
        items[left] = pivot


def _gallop_left(key: int, items: list[int], base: int, length: int, hint: int) -> Searching:
    """Return the position of the key in a sorted range, before equal items; the search begins at ``hint``."""
    last, offset = 0, 1
    if (yield key, items[base + hint]) > 0:
        most = length - hint
        while offset < most and (yield key, items[base + hint + offset]) > 0:
            last, offset = offset, 2 * offset + 1
        last, offset = last + hint, min(offset, most) + hint
    else:
        most = hint + 1
        while offset < most and (yield key, items[base + hint - offset]) <= 0:
            last, offset = offset, 2 * offset + 1
        last, offset = hint - min(offset, most), hint - last
    last += 1
    while last < offset:
        middle = last + ((offset - last) >> 1)
        if (yield key, items[base + middle]) > 0:
            last = middle + 1
        else:
            offset = middle
    return offset


def _gallop_right(key: int, items: list[int], base: int, length: int, hint: int) -> Searching:
    """Return the position of the key in a sorted range, behind equal items; the search begins at ``hint``."""
    last, offset = 0, 1
    if (yield key, items[base + hint]) < 0:
        most = hint + 1
        while offset < most and (yield key, items[base + hint - offset]) < 0:
            last, offset = offset, 2 * offset + 1
        last, offset = hint - min(offset, most), hint - last
    else:
        most = length - hint
        while offset < most and (yield key, items[base + hint + offset]) >= 0:
            last, offset = offset, 2 * offset + 1
        last, offset = last + hint, min(offset, most) + hint
    last += 1
    while last < offset:
        middle = last + ((offset - last) >> 1)
        if (yield key, items[base + middle]) < 0:
            offset = middle
        else:
            last = middle + 1
    return offset


class _Runs:
    """The sorted runs of a long list that wait to be merged: ``stack`` has their starts and lengths."""

    def __init__(self, items: list[int]) -> None:
        self.stack: list[tuple[int, int]] = []
        self._items = items
        self._min_gallop = _MIN_GALLOP

    def collapse(self) -> Comparing:
        """Merge runs until the lengths of the remaining ones decrease fast enough."""
        stack = self.stack
        while len(stack) > 1:
            place = len(stack) - 2
            lengths = [length for _, length in stack]
            if (place > 0 and lengths[place - 1] <= lengths[place] + lengths[place + 1]) or (
                place > 1 and lengths[place - 2] <= lengths[place] + lengths[place - 1]
            ):
                if lengths[place - 1] < lengths[place + 1]:
                    place -= 1
            elif lengths[place] > lengths[place + 1]:
                break
            yield from self._merge_at(place)

    def collapse_all(self) -> Comparing:
        """Merge all runs to one."""
        stack = self.stack
        while len(stack) > 1:
            place = len(stack) - 2
            if place > 0 and stack[place - 1][1] < stack[place + 1][1]:
                place -= 1
            yield from self._merge_at(place)

    def _merge_at(self, place: int) -> Comparing:
        """Merge the run at position ``place`` of the stack with the next one."""
        items = self._items
        (base1, length1), (base2, length2) = self.stack[place : place + 2]
        self.stack[place : place + 2] = [(base1, length1 + length2)]
        skipped = yield from _gallop_right(items[base2], items, base1, length1, 0)
        base1, length1 = base1 + skipped, length1 - skipped
        if length1 == 0:
            return
        length2 = yield from _gallop_left(items[base1 + length1 - 1], items, base2, length2, length2 - 1)
        if length2 == 0:
            return
        if length1 <= length2:
            yield from self._merge_low(base1, length1, base2, length2)
        else:
            yield from self._merge_high(base1, length1, base2, length2)

    def _merge_low(self, base1: int, length1: int, base2: int, length2: int) -> Comparing:
        """Merge two adjacent runs of which the first is not longer, from the front."""
        items, first = self._items, self._items[base1 : base1 + length1]
        place1, place2, target = 0, base2, base1
        items[target] = items[place2]
        target, place2, length2 = target + 1, place2 + 1, length2 - 1
        gallop, is_done = self._min_gallop, length2 == 0 or length1 == 1
        is_short = is_done
        while not is_done:
            count1 = count2 = 0
            while not is_done:
                if (yield items[place2], first[place1]) < 0:
                    items[target] = items[place2]
                    target, place2, length2 = target + 1, place2 + 1, length2 - 1
                    count1, count2, is_done = 0, count2 + 1, length2 == 0
                else:
                    items[target] = first[place1]
                    target, place1, length1 = target + 1, place1 + 1, length1 - 1
                    count1, count2, is_done = count1 + 1, 0, length1 == 1
                if (count1 | count2) >= gallop:
                    break
            while not is_done:
                count1 = yield from _gallop_right(items[place2], first, place1, length1, 0)
                if count1:
                    items[target : target + count1] = first[place1 : place1 + count1]
                    target, place1, length1 = target + count1, place1 + count1, length1 - count1
                    if length1 <= 1:
                        is_done = True
                        break
                items[target] = items[place2]
                target, place2, length2 = target + 1, place2 + 1, length2 - 1
                if length2 == 0:
                    is_done = True
                    break
                count2 = yield from _gallop_left(first[place1], items, place2, length2, 0)
                if count2:
                    items[target : target + count2] = items[place2 : place2 + count2]
                    target, place2, length2 = target + count2, place2 + count2, length2 - count2
                    if length2 == 0:
                        is_done = True
                        break
                items[target] = first[place1]
                target, place1, length1 = target + 1, place1 + 1, length1 - 1
                if length1 == 1:
                    is_done = True
                    break
                gallop -= 1
                if count1 < _MIN_GALLOP and count2 < _MIN_GALLOP:
                    break
            if not is_done:
                gallop = max(gallop, 0) + 2
        if not is_short:
            self._min_gallop = max(gallop, 1)
        if length1 == 0:
            raise InconsistentOrder
        items[target : target + length2] = items[place2 : place2 + length2]
        items[target + length2 : target + length2 + length1] = first[place1 : place1 + length1]

    def _merge_high(self, base1: int, length1: int, base2: int, length2: int) -> Comparing:
        """Merge two adjacent runs of which the second is shorter, from the back."""
        items, second = self._items, self._items[base2 : base2 + length2]
        place1, place2, target = base1 + length1 - 1, length2 - 1, base2 + length2 - 1
        items[target] = items[place1]
        target, place1, length1 = target - 1, place1 - 1, length1 - 1
        gallop, is_done = self._min_gallop, length1 == 0 or length2 == 1
        is_short = is_done
        while not is_done:
            count1 = count2 = 0
            while not is_done:
                if (yield second[place2], items[place1]) < 0:
                    items[target] = items[place1]
                    target, place1, length1 = target - 1, place1 - 1, length1 - 1
                    count1, count2, is_done = count1 + 1, 0, length1 == 0
                else:
                    items[target] = second[place2]
                    target, place2, length2 = target - 1, place2 - 1, length2 - 1
                    count1, count2, is_done = 0, count2 + 1, length2 == 1
                if (count1 | count2) >= gallop:
                    break
            while not is_done:
                found = yield from _gallop_right(second[place2], items, base1, length1, length1 - 1)
                count1 = length1 - found
                if count1:
                    target, place1, length1 = target - count1, place1 - count1, length1 - count1
                    items[target + 1 : target + 1 + count1] = items[place1 + 1 : place1 + 1 + count1]
                    if length1 == 0:
                        is_done = True
                        break
                items[target] = second[place2]
                target, place2, length2 = target - 1, place2 - 1, length2 - 1
                if length2 == 1:
                    is_done = True
                    break
                found = yield from _gallop_left(items[place1], second, 0, length2, length2 - 1)
                count2 = length2 - found
                if count2:
                    target, place2, length2 = target - count2, place2 - count2, length2 - count2
                    items[target + 1 : target + 1 + count2] = second[place2 + 1 : place2 + 1 + count2]
                    if length2 <= 1:
                        is_done = True
                        break
                items[target] = items[place1]
                target, place1, length1 = target - 1, place1 - 1, length1 - 1
                if length1 == 0:
                    is_done = True
                    break
                gallop -= 1
                if count1 < _MIN_GALLOP and count2 < _MIN_GALLOP:
                    break
            if not is_done:
                gallop = max(gallop, 0) + 2
        if not is_short:
            self._min_gallop = max(gallop, 1)
        if length2 == 0:
            raise InconsistentOrder
        items[target - length1 + 1 : target + 1] = items[place1 - length1 + 1 : place1 + 1]
        target -= length1
        items[target - length2 + 1 : target + 1] = second[place2 - length2 + 1 : place2 + 1]
