"""The queue between two tasklets: its bounds, its two closings, and that no wake-up is lost."""

import random
import threading

import pyarrow as pa
import pytest

from sqlfront_engine.edges.queues import NOTHING, BatchQueue


class Side:
    """One end of a queue; counts how often it was woken."""

    def __init__(self) -> None:
        self.wakes = 0

    def wake(self) -> None:
        self.wakes += 1


def batch(number: int = 0, rows: int = 1) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": [number] * rows})


def queue(size_limit: int = 1024, byte_limit: int = 1 << 20) -> tuple[BatchQueue, Side, Side]:
    producer, consumer = Side(), Side()
    return BatchQueue(producer, consumer, size_limit, byte_limit), producer, consumer


def test_batches_come_in_order_and_then_the_end() -> None:
    tested, _, _ = queue()
    batches = [batch(number) for number in range(3)]
    assert all(tested.offer(each) for each in batches)
    tested.finish()

    assert [tested.poll() for _ in range(5)] == [*batches, None, None]


def test_an_empty_queue_has_nothing_yet() -> None:
    tested, _, _ = queue()

    assert tested.poll() is NOTHING


def test_offering_and_finishing_wake_the_consumer() -> None:
    tested, producer, consumer = queue()
    tested.offer(batch())
    tested.finish()

    assert (producer.wakes, consumer.wakes) == (0, 2)


def test_the_number_of_batches_is_bounded() -> None:
    tested, _, _ = queue(size_limit=2)

    assert [tested.offer(batch()) for _ in range(3)] == [True, True, False]


def test_the_producer_is_woken_only_after_a_refusal() -> None:
    tested, producer, _ = queue(size_limit=2)
    tested.offer(batch())
    tested.offer(batch())
    tested.poll()
    assert producer.wakes == 0
    tested.offer(batch())
    tested.offer(batch())
    tested.poll()

    assert producer.wakes == 1


def test_bytes_are_bounded() -> None:
    tested, _, _ = queue(byte_limit=200)  # a batch of ten rows has 80 bytes

    assert [tested.offer(batch(rows=10)) for _ in range(3)] == [True, True, False]
    tested.poll()
    assert tested.offer(batch(rows=10))
    assert not tested.offer(batch(rows=10))


def test_one_larger_batch_passes_alone() -> None:
    tested, _, _ = queue(byte_limit=200)

    assert tested.offer(batch(rows=100))
    assert not tested.offer(batch())
    tested.poll()
    assert tested.offer(batch())
    assert not tested.offer(batch(rows=100))


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_under_any_order(seed: int) -> None:
    chosen = random.Random(seed)
    tested, _, _ = queue(size_limit=5, byte_limit=400)
    inside: list[pa.RecordBatch] = []
    for _ in range(500):
        if chosen.random() < 0.6:
            offered = batch(rows=chosen.choice([1, 10, 30, 70]))
            total = sum(each.nbytes for each in inside) + offered.nbytes
            fits = not inside or (len(inside) < 5 and total <= 400)
            assert tested.offer(offered) is fits
            if fits:
                inside.append(offered)
        else:
            assert tested.poll() is (inside.pop(0) if inside else NOTHING)


def test_abandoning_drops_everything_and_wakes_the_producer() -> None:
    tested, producer, _ = queue(size_limit=1)
    tested.offer(batch())
    tested.abandon()

    assert producer.wakes == 1
    assert tested.abandoned
    assert len(tested) == 0
    assert tested.offer(batch())
    assert tested.offer(batch())
    assert len(tested) == 0


def test_an_abandoned_queue_ends() -> None:
    tested, _, _ = queue()
    tested.abandon()
    assert tested.poll() is NOTHING
    tested.finish()

    assert tested.poll() is None


class SleepingSide:
    """An end whose thread sleeps until it is woken; a lost wake-up shows as a time-out."""

    def __init__(self) -> None:
        self.awake = threading.Lock()

    def wake(self) -> None:
        try:
            self.awake.release()
        except RuntimeError:
            pass

    def sleep(self) -> None:
        assert self.awake.acquire(timeout=60), "a wake-up was lost"


@pytest.mark.parametrize("size_limit", [1, 2, 7])
def test_no_wake_up_is_lost_between_threads(size_limit: int) -> None:
    count = 20_000
    producer, consumer = SleepingSide(), SleepingSide()
    tested = BatchQueue(producer, consumer, size_limit, 1 << 20)
    received: list[int] = []
    item = batch()

    def produce() -> None:
        for _ in range(count):
            while not tested.offer(item):
                producer.sleep()
        tested.finish()

    def consume() -> None:
        while (taken := tested.poll()) is not None:
            if taken is NOTHING:
                consumer.sleep()
            else:
                received.append(1)

    threads = [threading.Thread(target=produce), threading.Thread(target=consume)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(received) == count


def test_abandoning_from_another_thread_lets_the_producer_go_on() -> None:
    producer, consumer = SleepingSide(), SleepingSide()
    tested = BatchQueue(producer, consumer, 1, 1 << 20)
    refused = threading.Event()

    def produce() -> None:
        for _ in range(1000):
            while not tested.offer(batch()):
                refused.set()
                producer.sleep()

    thread = threading.Thread(target=produce)
    thread.start()
    assert refused.wait(60)
    tested.abandon()
    thread.join(60)

    assert not thread.is_alive()
    assert len(tested) == 0
