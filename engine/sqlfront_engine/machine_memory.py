"""The memory available to this process: the host's memory, or less if a control group bounds it (a container,
a systemd service, a Kubernetes pod)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: Bytes of memory that a system without a report is assumed to have: a small machine's, since too high a
#: limit ends the process, too low a limit a query.
_UNTOLD: Final = 8 * 1024**3
#: The kernel's files about control groups: this process's groups, and the two hierarchies.
_OWN_GROUPS: Final = "proc/self/cgroup"
_VERSION_2: Final = "sys/fs/cgroup"
_VERSION_1: Final = "sys/fs/cgroup/memory"


def machine_memory(root: Path = Path("/")) -> int:
    """Return the memory in bytes that this process can use: the host's memory, or the lowest limit of a
    control group. ``root``: the folder with ``proc`` and ``sys``, other than ``/`` in tests."""
    return min((_host_memory(), *_limits(root)))


def _host_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNTOLD


def _limits(root: Path) -> Iterator[int]:
    """Yield the memory limits in bytes of this process's control groups and of the groups that enclose
    them."""
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
    """Yield the limits that the files ``name`` contain, from the group at ``path`` up to the root of the
    hierarchy. A folder that doesn't exist is skipped: in a container, ``path`` is often that of the host,
    although the hierarchy begins with the container's own group."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for length in range(len(parts), -1, -1):
        try:
            text = hierarchy.joinpath(*parts[:length], name).read_text().strip()
        except OSError:
            continue
        if text.isdecimal():  # else it is "max"
            yield int(text)
