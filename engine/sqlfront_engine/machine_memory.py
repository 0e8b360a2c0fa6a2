"""How much memory there is for this process: the host's, or less where a control group bounds it (a
container, a systemd service, a Kubernetes pod)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: What a system is taken to have that doesn't tell.
_UNTOLD: Final = 8 * 1024**3
#: Where the kernel tells of control groups: this process's, and the two hierarchies.
_OWN_GROUPS: Final = "proc/self/cgroup"
_VERSION_2: Final = "sys/fs/cgroup"
_VERSION_1: Final = "sys/fs/cgroup/memory"


def machine_memory(root: Path = Path("/")) -> int:
    """Bytes that this process can have at most. ``root``: where ``proc`` and ``sys`` are."""
    return min((_host_memory(), *_limits(root)))


def _host_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNTOLD


def _limits(root: Path) -> Iterator[int]:
    """The limits of this process's control groups, and of those around them."""
    try:
        lines = (root / _OWN_GROUPS).read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            yield from _limits_above(root / _VERSION_2, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_above(root / _VERSION_1, path, "memory.limit_in_bytes")


def _limits_above(hierarchy: Path, path: str, name: str) -> Iterator[int]:
    """What the files of that name say, from the group up to the hierarchy's root. A container often sees its
    own group as that root, and its path from outside."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for length in range(len(parts), -1, -1):
        try:
            text = hierarchy.joinpath(*parts[:length], name).read_text().strip()
        except OSError:
            continue
        if text.isdecimal():  # else it is "max"
            yield int(text)
