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
    """The upper limit of this process's memory in bytes. ``root``: the folder with ``proc`` and ``sys``."""
    return min((_host_memory(), *_limits(root)))


def _host_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNTOLD


def _limits(root: Path) -> Iterator[int]:
    """The limits of this process's control groups, and of the enclosing groups."""
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
    """The numbers in the files called ``name``, from the group up to the hierarchy's root. A container often
    sees its own group as the root, but the group's path as from outside."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for length in range(len(parts), -1, -1):
        try:
            text = hierarchy.joinpath(*parts[:length], name).read_text().strip()
        except OSError:
            continue
        if text.isdecimal():  # else it is "max"
            yield int(text)
