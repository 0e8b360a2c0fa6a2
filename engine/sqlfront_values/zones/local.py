"""The time zone of this machine."""

import os
from pathlib import Path
from typing import Final

_LINK: Final = Path("/etc/localtime")
_FILE: Final = Path("/etc/timezone")


def local_zone() -> str:
    """Return the name of this process's time zone, as Java finds it (``ZoneId.systemDefault``): the name in
    the environment variable TZ, else the one that the machine is set to; UTC if neither has a name."""
    named = os.environ.get("TZ", "").removeprefix(":")
    if named:
        return named
    try:
        if _FILE.exists():
            return _FILE.read_text(encoding="utf-8").split()[0]
        return str(_LINK.readlink()).partition("zoneinfo/")[2] or "UTC"
    except (OSError, IndexError):
        return "UTC"
