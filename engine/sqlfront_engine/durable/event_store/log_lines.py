"""A job's log as text: one line per record, then one line for each run of bytes that doesn't count."""

from collections.abc import Iterator

from sqlfront_engine.durable.event_store.replay import Replay


def log_lines(replay: Replay) -> Iterator[str]:
    """Yield the lines of a log as text: sequence number, epoch, event name and JSON of each record, then the
    bytes that don't count, and the damage, if there is any. Events unknown to this version of sqlfront are
    shown, too."""
    for record in replay.records:
        yield f"{record.sequence:>8} {record.epoch:>4}  {record.name:<18} {record.content}"
    for left_out in replay.left_out:
        yield f"{left_out.reason.value}: {left_out.size} bytes from byte {left_out.offset} of {left_out.file}"
    if replay.damage is not None:
        damage = replay.damage
        yield f"DAMAGED: byte {damage.offset} of {damage.file}: {damage.problem}; nothing behind is read"
