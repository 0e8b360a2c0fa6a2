"""Events as JSON, and records as frames."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_engine.durable.event_store import events
from sqlfront_engine.durable.event_store.events import KINDS, Event, decode_event, encode_event
from sqlfront_engine.durable.event_store.records import OVERHEAD, frame_record, parse_file, record_at
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.errors import OperationalError

TASK = events.TaskId(stage=2, task=7)
ATTEMPT = events.Attempt(epoch=3, number=1)
FILE = SpoolFile(
    path="out/a.arrow",
    rows=5,
    bytes=99,
    buckets=(0, 1, 0),
    offsets=(8, 24, 48, 64),
    checksums=(7, 8, 9),
    bucket_rows=(2, 3),
    bucket_bytes=(16, 24),
    schema_hash="h",
)
ACCEPTED = events.AcceptedPrefix(epoch=2, file="events.000002.000000", offset=10, sequence=4, digest="ab")
#: One event of each kind, with a value in each field.
EXAMPLES: list[Event] = [
    events.JobSubmitted(
        job="j1",
        name="daily",
        statement="INSERT ... SELECT 'ü'",
        user="ada",
        now=1,
        seed=2,
        plan=b"\xff\0",
        plan_hash="h",
        engine_version="1",
        arrow_version="26",
        parameters=b"p",
        settings={"spark.sql.ansi.enabled": "true"},
        options={"retries": "4"},
        tables=(events.TableRead(name="t", version="8"),),
        deadline=9,
        replaces="j0",
    ),
    events.EpochStarted(
        epoch=3,
        member="m",
        incarnation="i",
        accepted=ACCEPTED,
        finished=(events.FinishedTask(task=TASK, attempt=ATTEMPT),),
        reset=(TASK,),
    ),
    events.StageInitialized(
        stage=2,
        ranges=((0, 2), (2, 5)),
        buckets=5,
        fragment_hash="f",
        hash_function="murmur3_32",
        sort_bounds=b"b",
    ),
    events.SplitsListed(
        stage=0,
        vertex="scan",
        splits=(events.Split(id=1, path="a.parquet", part="0-3", size=10, modified=11, etag="e"),),
    ),
    events.TaskFinished(
        task=TASK,
        attempt=ATTEMPT,
        member="m",
        incarnation="i",
        output=events.Manifest(files=(FILE,)),
        deterministic=True,
        splits={"scan": (1, 2)},
        rows_in=6,
        rows_out=5,
    ),
    events.TasksReset(tasks=(TASK,), reason="missing"),
    events.PlanChanged(events.BroadcastJoin(stage=5, streamed=4, held=(3,)), "few rows"),
    events.SinkPrepared(token="t", staged=("a", "b")),
    events.SinkCommitted(token="t"),
    events.CancelRequested(user="ada", at=1),
    events.JobEnded(
        state=events.JobEnd.FAILED,
        rows=1,
        result=events.Manifest(files=(FILE,)),
        error=events.JobError(
            kind="DataError", message="x", condition="DIVIDE_BY_ZERO", sqlstate="22012", hint="try_divide"
        ),
    ),
    events.CleanupDone(),
    events.SplitsIssued(stage=0, vertex="scan", first=3, splits=(b"\0", b"a"), state=b"\xff"),
]


def test_each_event_has_an_example() -> None:
    assert [type(event) for event in EXAMPLES] == [kind.struct for kind in KINDS.values()]


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_is_decoded_as_it_was_encoded(event: Event) -> None:
    kind, payload = encode_event(event)

    assert decode_event(kind.number, kind.version, payload) == event
    assert msgspec.json.decode(payload)["event"] == kind.name


def test_an_unknown_event_is_refused_by_its_number() -> None:
    with pytest.raises(OperationalError, match="an event of type 99; this version of sqlfront knows 1 to 13"):
        decode_event(99, 1, b"{}")


def test_an_unknown_version_is_refused_by_name() -> None:
    with pytest.raises(OperationalError, match=r"the event task_finished in version 3; .* reads version 2"):
        decode_event(5, 3, b"{}")


def test_a_job_of_the_first_version_replaces_none() -> None:
    _, payload = encode_event(EXAMPLES[0])
    fields = msgspec.json.decode(payload)
    del fields["replaces"]

    event = decode_event(1, 1, msgspec.json.encode(fields))

    assert event == msgspec.structs.replace(EXAMPLES[0], replaces=None)


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(OperationalError, match=r"unreadable event cleanup_done: .*unknown field `more`"):
        decode_event(12, 1, b'{"event":"cleanup_done","more":1}')


def test_a_record_of_another_format_is_refused_by_version() -> None:
    frame = bytearray(frame_record(12, 1, b"{}", epoch=1, sequence=1, durable=0))
    frame[3] = 2
    frame[32:36] = _checksum(frame[:32])

    with pytest.raises(OperationalError, match=r"records in version 2 of the format; .* reads version 1"):
        record_at(bytes(frame), 0)


def _checksum(data: bytes | bytearray) -> bytes:
    from crc32c import crc32c

    return crc32c(bytes(data)).to_bytes(4, "little")


def test_the_checksum_is_crc32c() -> None:
    """The check value of the polynomial (RFC 3720, iSCSI)."""
    assert _checksum(b"123456789") == 0xE3069283.to_bytes(4, "little")


def frames(payloads: list[bytes], durable: int = 0, first: int = 1) -> list[bytes]:
    return [
        frame_record(6, 1, payload, epoch=1, sequence=sequence, durable=durable)
        for sequence, payload in enumerate(payloads, first)
    ]


@given(st.lists(st.binary(max_size=80), max_size=6), st.binary(max_size=60))
def test_records_are_read_up_to_what_is_no_record(payloads: list[bytes], rest: bytes) -> None:
    whole = frames(payloads)
    contents = parse_file(b"".join(whole) + rest, 1)

    assert [record.payload for record in contents.records] == payloads
    assert contents.end == sum(map(len, whole)) == contents.size - len(rest)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=4), st.data())
def test_no_changed_byte_goes_unnoticed(payloads: list[bytes], data: st.DataObject) -> None:
    whole = frames(payloads)
    content = bytearray(b"".join(whole))
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    kept = parse_file(bytes(content), 1).records

    ends = [sum(map(len, whole[: count + 1])) for count in range(len(whole))]
    assert [record.payload for record in kept] == payloads[: sum(end <= place for end in ends)]


def test_a_record_of_another_epoch_or_out_of_order_ends_a_file() -> None:
    first, second, third = frames([b"a", b"b", b"c"])

    assert [record.payload for record in parse_file(first + third + second, 1).records] == [b"a"]
    assert parse_file(first, 2).records == ()


def test_what_was_durable_is_found_behind_damage() -> None:
    first = frames([b"a"])[0]
    later = frames([b"c"], durable=2, first=3)[0]

    assert parse_file(first + b"?" * 50 + later + b"\xf5SL", 1).durable == 2
    assert len(first) == OVERHEAD + 1
