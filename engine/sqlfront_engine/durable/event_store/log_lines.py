"""A job's log as text: one line per record, then a line for each thing that doesn't count."""

from collections.abc import Iterator

from sqlfront_engine.durable.event_store.replay import Replay


def log_lines(replay: Replay) -> Iterator[str]:
    """The lines of a log: sequence, epoch, event and JSON of each record. An event that this version of
    sqlfront doesn't know is shown, too."""
    for record in replay.records:
        yield f"{record.sequence:>8} {record.epoch:>4}  {record.name:<18} {record.content}"
    for left_out in replay.left_out:
        yield f"{left_out.reason.value}: {left_out.size} bytes from byte {left_out.offset} of {left_out.file}"
    if replay.damage is not None:
        damage = replay.damage
        yield f"DAMAGED: byte {damage.offset} of {damage.file}: {damage.problem}; nothing behind is read"
