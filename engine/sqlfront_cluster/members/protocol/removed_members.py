"""The names of removed members, by which a removed member that comes back is refused."""

from typing import Final

#: Names that are remembered; the limit bounds the memory that they take.
REMEMBERED: Final = 1000


def remember(removed: dict[str, str], name: str, reason: str) -> None:
    """Note in ``removed`` that the member ``name`` was removed, with the ``reason``; the name noted first is
    forgotten if there are more than :data:`REMEMBERED`."""
    removed[name] = reason
    if len(removed) > REMEMBERED:
        del removed[next(iter(removed))]
