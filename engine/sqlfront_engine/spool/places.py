"""The places of spool files: how a reader or writer finds the folder of a file.

A path or a URL of an object storage means the same everywhere. The URL of an output on a member's own disk,
``member://NAME/...``, needs the cluster to which the member belongs: a job that reads or writes such files
has the function that finds them among its resources.
"""

from collections.abc import Callable, Mapping
from typing import Final, cast
from urllib.parse import unquote

from sqlfront_engine.storage.addresses import located
from sqlfront_engine.storage.folders import FileFolder

#: The beginning of the URLs of files on members' own disks.
ON_MEMBER: Final = "member://"
#: The key of the resource, a :data:`Located`, by which the operators of a job find spool files.
PLACES: Final = "places of spool files"

#: A function that returns the folder and the name of the file at a path or URL.
Located = Callable[[str], tuple[FileFolder, str]]


def is_on_member(path: str) -> bool:
    """Return whether a spool file is on a member's own disk.

    >>> is_on_member("/jobs/spool/a.arrow"), is_on_member("member://m1/5f/a.3/b.arrow")
    (False, True)
    """
    return path.startswith(ON_MEMBER)


def member_of(path: str) -> str | None:
    """Return the name of the member that has a spool file on its own disk; None for other files.

    >>> member_of("member://host%3A4711%23ab/5f/a.3/b.arrow")
    'host:4711#ab'
    """
    return unquote(path.removeprefix(ON_MEMBER).partition("/")[0]) if is_on_member(path) else None


def places_in(resources: Mapping[str, object]) -> Located:
    """Return the function by which a job with these ``resources`` finds spool files: without a resource of
    its own the job finds those in directories and object storages."""
    return cast("Located", resources.get(PLACES, located))
