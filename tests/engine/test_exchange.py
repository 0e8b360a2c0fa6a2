"""The receive window: how far a sender may run ahead of its receiver."""

import pyarrow as pa

from sqlfront_engine.edges.exchange import (
    FLOW_CONTROL_PERIOD,
    MOST_WINDOW,
    EdgeStream,
    Parcel,
    ReceiverStatistics,
    RemoteInput,
    RemoteOutput,
    SenderStatistics,
)
from sqlfront_engine.edges.queues import NOTHING

STREAM = EdgeStream(0, "other")
BATCH = pa.RecordBatch.from_pydict({"a": [1]})


class Notes:
    """A wire that notes what is sent, and somebody who is woken."""

    def __init__(self, size: int = 100) -> None:
        self.size = size
        self.sent: list[object] = []
        self.batches: list[pa.RecordBatch] = []
        self.wakes = 0

    def wake(self) -> None:
        self.wakes += 1

    def send_data(self, stream: EdgeStream, batch: pa.RecordBatch | None, *, last: bool) -> int:
        if batch is not None:
            self.batches.append(batch)
        self.sent.append("last" if batch is None else "last batch" if last else "batch")
        return 0 if batch is None else self.size

    def acknowledge(self, stream: EdgeStream, limit: int) -> None:
        self.sent.append(limit)

    def close_input(self, stream: EdgeStream) -> None:
        self.sent.append("closed")

    def unpack(self, stream: EdgeStream, content: object) -> pa.RecordBatch:
        assert isinstance(content, pa.RecordBatch)
        return content


def sender(window: int, *, packet: int = 1000, patient: bool = False) -> tuple[RemoteOutput, Notes]:
    notes = Notes()
    output = RemoteOutput(notes, STREAM, window, packet, patient=patient)
    output.producer = notes
    return output, notes


def receiver(window: int, multiplier: int = 3) -> tuple[RemoteInput, Notes]:
    notes = Notes()
    remote = RemoteInput(notes, STREAM, multiplier, window)
    remote.consumer = notes
    return remote, notes


def arrive(remote: RemoteInput, size: int, count: int = 1) -> None:
    for _ in range(count):
        remote.arrived(Parcel(BATCH, size))


def take(remote: RemoteInput, count: int = 1) -> None:
    for _ in range(count):
        assert remote.poll() is BATCH


def test_a_sender_begins_with_the_initial_window_and_passes_it_by_one_batch() -> None:
    output, notes = sender(250)

    assert [output.offer(BATCH) for _ in range(4)] == [True, True, True, False]
    assert notes.sent == ["batch"] * 3
    assert output.statistics() == SenderStatistics(STREAM, 300, 250, 0)
    assert output.statistics().blocked


def test_a_higher_limit_wakes_the_sender_and_a_lower_one_is_late_news() -> None:
    output, notes = sender(50)
    output.offer(BATCH)
    assert not output.offer(BATCH)

    output.allow(40)
    assert notes.wakes == 0
    output.allow(100)
    assert notes.wakes == 1
    assert output.offer(BATCH)


def test_the_end_is_sent_once_whatever_the_limit() -> None:
    output, notes = sender(0)
    output.offer(BATCH)
    output.finish()
    output.finish()

    assert notes.sent == ["batch", "last"]


def test_a_closed_output_takes_everything_and_sends_only_the_end() -> None:
    output, notes = sender(0)
    output.close()

    assert output.abandoned
    assert output.offer(BATCH)
    output.finish()
    assert notes.sent == ["last"]


def test_the_last_batch_of_a_patient_sender_brings_the_end() -> None:
    output, notes = sender(1000, patient=True)
    output.offer(BATCH)
    output.offer(BATCH)
    assert notes.sent == ["batch"]

    output.finish()
    output.finish()
    assert notes.sent == ["batch", "last batch"]


def test_a_patient_sender_keeps_nothing_when_its_producer_rests() -> None:
    output, notes = sender(1000, patient=True)
    output.offer(BATCH)
    output.flush()
    output.flush()
    assert notes.sent == ["batch"]

    output.finish()
    assert notes.sent == ["batch", "last"]


def test_a_patient_sender_passes_its_window_by_one_batch() -> None:
    output, notes = sender(250, patient=True)

    assert [output.offer(BATCH) for _ in range(4)] == [True, True, True, False]
    assert notes.sent == ["batch"] * 3


def test_a_patient_sender_drops_what_nobody_wants() -> None:
    output, notes = sender(1000, patient=True)
    output.offer(BATCH)
    output.close()
    output.finish()

    assert notes.sent == ["last"]


def test_a_batch_that_is_the_end_is_given_before_it() -> None:
    remote, _ = receiver(1000)
    remote.arrived(Parcel(BATCH, 10, last=True))

    take(remote)
    assert remote.poll() is None


def test_an_input_gives_what_came_then_the_end() -> None:
    remote, _ = receiver(1000)
    assert remote.poll() is NOTHING
    arrive(remote, 10)
    remote.arrived(Parcel(None, 0, last=True))

    take(remote)
    assert remote.poll() is None
    assert remote.poll() is None


def test_half_a_window_consumed_is_told_at_once() -> None:
    remote, notes = receiver(1000)
    arrive(remote, 100, 8)

    take(remote, 4)
    assert notes.sent == []
    take(remote)
    assert notes.sent == [1500]


def test_both_ends_count_bytes_and_acknowledgements() -> None:
    remote, _ = receiver(1000)
    arrive(remote, 100, 8)
    take(remote, 6)
    remote.adapt(0.0)
    remote.adapt(0.0)
    assert remote.statistics() == ReceiverStatistics(STREAM, 800, 600, 200, 800, 1000, 1000, 2, 1)

    output, _ = sender(250)
    output.offer(BATCH)
    output.allow(400)
    output.allow(300)
    assert output.statistics() == SenderStatistics(STREAM, 100, 400, 2)


def test_the_first_tick_of_a_stream_tells_nothing() -> None:
    remote, notes = receiver(1000)
    arrive(remote, 100)
    take(remote)
    remote.adapt(0.0)
    assert notes.sent == []
    remote.adapt(FLOW_CONTROL_PERIOD)
    assert notes.sent == [1100]


def test_nothing_is_told_about_a_stream_that_has_ended() -> None:
    remote, notes = receiver(100)
    arrive(remote, 100, 2)
    remote.arrived(Parcel(None, 0, last=True))
    take(remote, 2)
    remote.adapt(1.0)

    assert notes.sent == []


def test_an_abandoned_input_says_so_once_and_drops_what_comes() -> None:
    remote, notes = receiver(1000)
    arrive(remote, 10)
    remote.abandon()
    remote.abandon()
    arrive(remote, 10)

    assert notes.sent == ["closed"]
    assert remote.statistics().waiting == 0


def test_an_input_that_has_ended_has_nobody_to_tell() -> None:
    remote, notes = receiver(1000)
    remote.arrived(Parcel(None, 0, last=True))
    remote.abandon()

    assert notes.sent == []


# ---- the window's size, in the scenarios of Jet's ReceiverTaskletSendLimitTest


def periods(remote: RemoteInput, count: int, size: int, *, left_over: int = 0) -> None:
    """Flow-control periods in which the consumer takes one parcel of `size` each; so many more wait."""
    arrive(remote, size, left_over)
    for number in range(count):
        arrive(remote, size)
        take(remote)
        remote.adapt((number + 1) * FLOW_CONTROL_PERIOD)


def test_without_data_the_window_stays() -> None:
    remote, notes = receiver(1000)
    for number in range(5):
        remote.adapt(number * FLOW_CONTROL_PERIOD)

    assert remote.statistics().window == 1000
    assert notes.sent == []


def test_a_steady_flow_settles_at_the_multiple_of_a_periods_rate() -> None:
    grows, _ = receiver(1000)
    periods(grows, 60, 1000)
    assert abs(grows.statistics().window - 3000) <= 4

    shrinks, _ = receiver(100_000)
    periods(shrinks, 60, 1000, left_over=2)
    assert abs(shrinks.statistics().window - 3000) <= 4


def test_a_slow_sender_does_not_shrink_the_window() -> None:
    remote, _ = receiver(100_000)
    periods(remote, 20, 10)

    assert remote.statistics().window == 100_000


def test_a_stuck_consumer_shrinks_the_window_to_nothing_and_it_recovers_quickly() -> None:
    remote, _ = receiver(1000)
    arrive(remote, 1000, 2)
    for number in range(20):
        remote.adapt(number * FLOW_CONTROL_PERIOD)
    assert remote.statistics().window in (0, 1)

    take(remote, 2)
    remote.adapt(20 * FLOW_CONTROL_PERIOD)
    assert remote.statistics().window >= 3000


def test_differences_are_halved_toward_zero() -> None:
    """Rounding down instead would take one from a window that is larger than the target by one."""
    remote, _ = receiver(1001, multiplier=1)
    periods(remote, 3, 1000, left_over=2)

    assert remote.statistics().window == 1001


def test_a_fast_consumer_gets_no_window_that_would_fill_the_senders_outbox() -> None:
    remote, notes = receiver(1000)
    periods(remote, 20, 300 << 20)
    assert MOST_WINDOW // 2 < remote.statistics().widest <= MOST_WINDOW
    limits = [limit for limit in notes.sent if isinstance(limit, int)]
    assert limits[-1] - remote.statistics().consumed <= MOST_WINDOW

    begins_with_more, _ = receiver(2 * MOST_WINDOW)
    periods(begins_with_more, 20, 300 << 20)
    assert begins_with_more.statistics().widest == 2 * MOST_WINDOW


# ---- the limit of a message


def rows_sent(batch: pa.RecordBatch, packet: int) -> list[int]:
    """The rows of the messages by which a sender sends the batch, which are the batch in order."""
    output, notes = sender(10**9, packet=packet)
    assert output.offer(batch)
    output.finish()

    assert notes.sent == ["batch"] * len(notes.batches) + ["last"]
    assert pa.Table.from_batches(notes.batches) == pa.Table.from_batches([batch])
    assert output.statistics().sent == notes.size * len(notes.batches)
    return [each.num_rows for each in notes.batches]


def test_a_batch_is_sent_in_messages_of_at_most_the_limit() -> None:
    batch = pa.RecordBatch.from_pydict({"a": range(1000)})  # 8,000 bytes

    assert rows_sent(batch, 8000) == [1000]
    assert rows_sent(batch, 7999) == [500, 500]
    assert rows_sent(batch, 800) == [100] * 10
    assert rows_sent(batch, 8) == rows_sent(batch, 1) == [1] * 1000
    assert rows_sent(batch.slice(990), 80) == [10]
    assert rows_sent(batch.slice(0, 0), 1) == [0]


def test_a_row_larger_than_the_limit_goes_alone() -> None:
    texts = ["x"] * 100 + ["y" * 10_000] + ["z"] * 100
    output, notes = sender(10**9, packet=1000)
    output.offer(pa.RecordBatch.from_pydict({"a": texts}))

    assert [each.num_rows for each in notes.batches if each.nbytes > 1000] == [1]
    assert sum(each.num_rows for each in notes.batches) == 201
    assert len(notes.batches) < 40


def test_dictionaries_do_not_count() -> None:
    column = pa.array(["x" * 1000 + str(number) for number in range(10)] * 10).dictionary_encode()
    batch = pa.RecordBatch.from_pydict({"a": column})  # 400 bytes of codes

    assert rows_sent(batch, 400) == [100]
    assert rows_sent(batch, 100) == [25] * 4


def test_columns_that_share_a_buffer_count_each() -> None:
    column = pa.array(range(100))
    batch = pa.RecordBatch.from_arrays([column] * 4, names=list("abcd"))

    assert rows_sent(batch, 800) == [25] * 4


def test_the_last_slice_brings_the_end() -> None:
    output, notes = sender(10**9, packet=400, patient=True)
    output.offer(pa.RecordBatch.from_pydict({"a": range(100)}))
    output.finish()

    assert notes.sent == ["batch", "last batch"]
