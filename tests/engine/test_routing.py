"""Outputs by routing and inputs combined."""

import random
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from sqlfront_engine.edges.merging import MergingInput
from sqlfront_engine.edges.queues import NOTHING, BatchQueue, Input, Output
from sqlfront_engine.edges.routing import (
    AnyOf,
    BroadcastOutput,
    ByPriority,
    PartitionedOutput,
    RoundRobin,
    RowRoundRobin,
)
from sqlfront_values.expressions import SortKey, SortOrder
from sqlfront_values.partitioning.partitions import partition_ids

Make = Callable[[Sequence[BatchQueue]], Output]


class Nobody:
    def wake(self) -> None:
        pass


def queues(count: int, size_limit: int = 1024) -> list[BatchQueue]:
    return [BatchQueue(Nobody(), Nobody(), size_limit, 1 << 20) for _ in range(count)]


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(numbers)})


def drain(source: Input) -> list[int]:
    numbers: list[int] = []
    while isinstance(taken := source.poll(), pa.RecordBatch):
        numbers += taken.column(0).to_pylist()
    return numbers


def partitioned(targets: Sequence[BatchQueue]) -> PartitionedOutput:
    return PartitionedOutput(targets, (0,), np.arange(271) % len(targets))


# ---- outputs


@pytest.mark.parametrize("kind", [RoundRobin, RowRoundRobin])
def test_unicast_goes_round(kind: Make) -> None:
    targets = queues(3)
    output = kind(targets)
    for number in range(7):
        assert output.offer(batch(number))

    assert [drain(target) for target in targets] == [[0, 3, 6], [1, 4], [2, 5]]


def test_unicast_counts_rows() -> None:
    targets = queues(3, 1 << 20)
    output = RowRoundRobin(targets)
    for target in targets:
        assert target.offer(batch(-1))  # so that no batch is divided
    for number in range(90):
        assert output.offer(batch(*[number] * (1 if number % 3 else 1000)))

    dealt = [len(drain(target)) - 1 for target in targets]
    assert sum(dealt) == 30 * 1002
    assert max(dealt) - min(dealt) <= 1000


def test_a_queue_that_was_full_is_not_owed_what_it_has_missed() -> None:
    slow, quick = targets = queues(2, 10)
    output = RowRoundRobin(targets)
    assert all(slow.offer(batch(-1)) for _ in range(10))
    for number in range(50):
        assert output.offer(batch(number))
        assert drain(quick) == [number]
    assert len(drain(slow)) == 10

    assert slow.offer(batch(-1))
    assert quick.offer(batch(-1))
    for number in range(6):
        assert output.offer(batch(number))
    assert sorted([len(drain(slow)), len(drain(quick))]) in ([4, 4], [3, 5])


@pytest.mark.parametrize("kind", [RoundRobin, RowRoundRobin])
def test_unicast_skips_full_queues_and_refuses_when_all_are_full(
    kind: Make,
) -> None:
    targets = queues(2, size_limit=1)
    output = kind(targets)
    assert [output.offer(batch(number)) for number in range(3)] == [True, True, False]
    assert drain(targets[1]) == [1]
    assert output.offer(batch(2))

    assert [drain(target) for target in targets] == [[0], [2]]


@pytest.mark.parametrize("kind", [RoundRobin, RowRoundRobin])
def test_unicast_leaves_out_abandoned_queues(kind: Make) -> None:
    targets = queues(2)
    output = kind(targets)
    targets[0].abandon()
    for number in range(3):
        assert output.offer(batch(number))

    assert drain(targets[1]) == [0, 1, 2]
    targets[1].abandon()
    assert output.offer(batch(3))


def test_a_batch_is_divided_among_the_queues_that_are_empty() -> None:
    targets = queues(4)
    output = RowRoundRobin(targets)
    assert output.offer(batch(*range(20)))

    assert [drain(target) for target in targets] == [[*range(first, first + 5)] for first in (0, 5, 10, 15)]
    targets[0].offer(batch(-1))
    targets[2].abandon()
    assert output.offer(batch(*range(5)))
    assert [drain(target) for target in targets] == [[-1], [0, 1, 2], [], [3, 4]]


def test_a_batch_stays_whole_beside_filled_queues() -> None:
    targets = queues(2)
    output = RowRoundRobin(targets)
    assert output.offer(batch(1, 2))
    assert output.offer(batch(3, 4))

    assert [drain(target) for target in targets] == [[1, 3, 4], [2]]
    assert output.offer(batch(5))
    assert [drain(target) for target in targets] == [[], [5]]


def test_a_divided_batch_takes_no_turn_of_another_member() -> None:
    class Remote:
        abandoned = False

        def __init__(self) -> None:
            self.batches: list[pa.RecordBatch] = []

        def offer(self, batch: pa.RecordBatch) -> bool:
            self.batches.append(batch)
            return True

        def finish(self) -> None:
            pass

    here, there = queues(2), [Remote(), Remote()]
    output, rows = RowRoundRobin([*here, *there]), [0, 0]
    for _ in range(40):
        assert output.offer(batch(*range(10)))
        for number, target in enumerate(here):
            rows[number] += len(drain(target))

    assert rows == [100, 100]
    assert [sum(each.num_rows for each in remote.batches) for remote in there] == [100, 100]
    there[0].abandoned = there[1].abandoned = True
    for expected in ([5, 5], [10, 0], [5, 5], [5, 5]):  # once to see that nobody is there
        assert output.offer(batch(*range(10)))
        assert [len(drain(target)) for target in here] == expected


@pytest.mark.parametrize("seed", range(20))
def test_divided_batches_lose_and_double_no_row(seed: int) -> None:
    drawn = random.Random(seed)
    targets = queues(drawn.randrange(1, 5), size_limit=2)
    output, taken = RowRoundRobin(targets), list[int]()
    first = 0
    while first < 200:
        offered = range(first, first + drawn.randrange(5))
        if output.offer(batch(*offered)):
            first = offered.stop
        if drawn.random() < 0.5:
            found = drawn.choice(targets).poll()
            taken += found.column(0).to_pylist() if isinstance(found, pa.RecordBatch) else []
    taken += [row for target in targets for row in drain(target)]

    assert sorted(taken) == list(range(first))


def test_broadcast_repeats_only_for_those_that_refused() -> None:
    targets = queues(3, size_limit=1)
    targets[1].offer(batch(9))
    output = BroadcastOutput(targets)
    offered = batch(1)
    assert not output.offer(offered)
    assert not output.offer(offered)
    assert drain(targets[1]) == [9]
    assert output.offer(offered)

    assert [drain(target) for target in targets] == [[1], [1], [1]]


@pytest.mark.parametrize("consumers", [2, 3, 7])
def test_partitioned_rows_go_to_the_owner_of_their_partition(consumers: int) -> None:
    targets = queues(consumers)
    numbers = list(range(1000))
    assert partitioned(targets).offer(batch(*numbers))
    owners = partition_ids([pa.array(numbers)], 1000, 271) % consumers

    expected = [[n for n in numbers if owners[n] == index] for index in range(consumers)]
    assert [drain(target) for target in targets] == expected


def test_partitioned_waits_for_each_queue_that_refused() -> None:
    targets = queues(2, size_limit=1)
    output = partitioned(targets)
    first, second = batch(*range(10)), batch(*range(10, 20))
    assert output.offer(first)
    assert not output.offer(second)
    seen = [drain(targets[0])]
    assert not output.offer(second)
    seen += [drain(targets[1])]
    assert output.offer(second)
    seen += [drain(target) for target in targets]

    assert sorted(number for numbers in seen for number in numbers) == list(range(20))


def test_a_batch_of_one_owner_is_not_copied() -> None:
    targets = queues(2)
    offered = batch(5, 5, 5)
    partitioned(targets).offer(offered)

    assert next(target.poll() for target in targets if len(target)) is offered


@pytest.mark.parametrize("make", [RoundRobin, RowRoundRobin, BroadcastOutput, partitioned])
def test_an_output_is_abandoned_when_all_its_queues_are(make: Make) -> None:
    targets = queues(2)
    output = make(targets)
    states = [output.abandoned]
    for target in targets:
        target.abandon()
        states.append(output.abandoned)

    assert states == [False, False, True]


@pytest.mark.parametrize("make", [RoundRobin, RowRoundRobin, BroadcastOutput, partitioned])
def test_an_abandoned_output_drops_what_it_is_offered(make: Make) -> None:
    targets = queues(2)
    for target in targets:
        target.abandon()

    assert make(targets).offer(batch(*range(10)))


@pytest.mark.parametrize("make", [RoundRobin, RowRoundRobin, BroadcastOutput, partitioned])
def test_finishing_reaches_all_queues(make: Make) -> None:
    targets = queues(2)
    make(targets).finish()

    assert [target.poll() for target in targets] == [None, None]


# ---- inputs


def test_any_of_takes_turns_and_ends_with_the_last() -> None:
    sources = queues(2)
    for number in range(3):
        sources[0].offer(batch(number))
        sources[1].offer(batch(10 + number))
    combined = AnyOf(sources)

    assert drain(combined) == [0, 10, 1, 11, 2, 12]
    assert combined.poll() is NOTHING
    sources[0].finish()
    assert combined.poll() is NOTHING
    sources[1].finish()
    assert combined.poll() is None
    assert combined.poll() is None


def test_an_idle_input_does_not_hold_up_the_others() -> None:
    sources = queues(3)
    sources[0].finish()
    sources[2].offer(batch(7))

    assert drain(AnyOf(sources)) == [7]


def test_no_inputs_have_ended() -> None:
    assert AnyOf(()).poll() is None


def test_priority_drains_the_lower_number_first_and_completely() -> None:
    first, second = queues(2)
    second.offer(batch(2))
    combined = ByPriority([AnyOf([first]), AnyOf([second])])
    assert combined.poll() is NOTHING
    first.offer(batch(1))
    assert drain(combined) == [1]
    first.finish()
    second.finish()

    assert drain(combined) == [2]
    assert combined.poll() is None


# ---- the ordered merge


def merge_all(sources: Sequence[Sequence[pa.RecordBatch]], keys: tuple[SortKey, ...], seed: int) -> pa.Table:
    """Merge sources whose batches arrive in random order."""
    chosen = random.Random(seed)
    ends = queues(len(sources))
    merging = MergingInput(ends, keys)
    pending = [list(batches) for batches in sources]
    merged = []
    while (taken := merging.poll()) is not None:
        if taken is not NOTHING:
            merged.append(taken)
            continue
        index = chosen.randrange(len(sources))
        if pending[index]:
            ends[index].offer(pending[index].pop(0))
        else:
            ends[index].finish()
    return pa.Table.from_batches(merged)


@pytest.mark.parametrize("seed", range(20))
def test_merge_gives_the_sorted_union(seed: int) -> None:
    chosen = random.Random(seed)
    order = tuple(SortOrder)[seed % 4]
    keys = (SortKey(0, order), SortKey(1))
    rows = [(chosen.choice([None, *range(5)]), f"{chosen.randrange(20)}") for _ in range(200)]

    def rank(row: tuple[int | None, str]) -> tuple[int, int, str]:
        number = row[0] if row[0] is not None else 0
        null_rank = (0 if order.nulls_first else 2) if row[0] is None else 1
        return (null_rank, -number if order.descends else number, row[1])

    sources: list[list[pa.RecordBatch]] = []
    for index in range(3):
        mine = sorted(rows[index::3], key=rank)
        cuts = sorted(chosen.sample(range(len(mine)), 4))
        pieces = [mine[a:b] for a, b in zip([0, *cuts], [*cuts, len(mine)], strict=True)]
        sources.append([pa.RecordBatch.from_pylist([{"a": a, "b": b} for a, b in p]) for p in pieces if p])
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    sources = [[piece.cast(schema) for piece in pieces] for pieces in sources]

    merged = merge_all(sources, keys, seed)

    assert [tuple(row.values()) for row in merged.to_pylist()] == sorted(rows, key=rank)


def test_merge_holds_back_until_every_live_input_has_shown_a_batch() -> None:
    ends = queues(2)
    merging = MergingInput(ends, (SortKey(0),))
    ends[0].offer(batch(1, 5))
    assert merging.poll() is NOTHING
    ends[1].offer(batch(3, 4))

    assert drain(merging) == [1, 3, 4]
    ends[1].finish()
    assert drain(merging) == [5]
    ends[0].finish()
    assert merging.poll() is None


def test_merge_keeps_the_order_of_inputs_for_equal_keys() -> None:
    first = pa.RecordBatch.from_pydict({"k": [1, 1], "s": ["a", "b"]})
    second = pa.RecordBatch.from_pydict({"k": [1, 1], "s": ["c", "d"]})

    merged = merge_all([[first], [second]], (SortKey(0),), 0)

    assert merged.column("s").to_pylist() == ["a", "b", "c", "d"]
