"""Names of the files in a job's folder."""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

_EVENTS: Final = re.compile(r"events\.(\d+)\.(\d+)")
_CLAIM: Final = re.compile(r"epoch\.(\d+)")


def claim_name(epoch: int) -> str:
    """Return the name of the file by which a coordinator claims an epoch.

    >>> claim_name(2)
    'epoch.000002'
    """
    return f"epoch.{epoch:06}"


def events_name(epoch: int, number: int) -> str:
    """Return the name of a file of records: file ``number`` (from 0) of an epoch.

    >>> events_name(2, 0)
    'events.000002.000000'
    """
    return f"events.{epoch:06}.{number:06}"


class JobFiles(msgspec.Struct, frozen=True):
    """The files in a job's folder. ``events``: for each epoch the names of the files of records, in the
    order of writing; ``claimed``: the highest claimed epoch, 0 if no epoch was claimed."""

    events: dict[int, tuple[str, ...]]
    claimed: int

    @classmethod
    def of(cls, names: Iterable[str]) -> "JobFiles":
        """Return the files of a job by the names in its folder; names of other forms are ignored.

        >>> JobFiles.of(["epoch.000001", "events.000001.000010", "events.000001.000002", "other"])
        JobFiles(events={1: ('events.000001.000002', 'events.000001.000010')}, claimed=1)
        """
        claimed = 0
        numbers: dict[int, list[int]] = {}
        for name in names:
            if claim := _CLAIM.fullmatch(name):
                claimed = max(claimed, int(claim[1]))
            elif events := _EVENTS.fullmatch(name):
                numbers.setdefault(int(events[1]), []).append(int(events[2]))
        return cls(
            {
                epoch: tuple(events_name(epoch, one) for one in sorted(found))
                for epoch, found in numbers.items()
            },
            max([claimed, *numbers]),
        )
