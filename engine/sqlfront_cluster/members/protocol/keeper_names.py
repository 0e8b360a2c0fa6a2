"""The names of keepers: each keeper of a cluster has a name of its own, which contains its epoch.

>>> keeper_name(1), keeper_name(3)
('keeper', 'keeper.3')
>>> keeper_epoch("keeper.3"), keeper_epoch("keeper"), keeper_epoch("keeper.x")
(3, 1, 0)
"""

from typing import Final

#: The name of a cluster's first keeper; no member may have this name, or this name with a dot behind it.
KEEPER: Final = "keeper"


def keeper_name(epoch: int) -> str:
    """Return the name of the keeper with this ``epoch``."""
    return KEEPER if epoch == 1 else f"{KEEPER}.{epoch}"


def keeper_epoch(name: str) -> int:
    """Return the epoch of the keeper called ``name``; 0 if a keeper can't have this name."""
    if name == KEEPER:
        return 1
    epoch = name.removeprefix(f"{KEEPER}.")
    return int(epoch) if epoch != name and epoch.isascii() and epoch.isdecimal() else 0
