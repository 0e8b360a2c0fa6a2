"""SQL functions of a cluster's catalog, as stored in documents with the keys ``routine:<name>``."""

from typing import Final

from sqlfront_cluster import codec
from sqlfront_planner.routines import Routine

ROUTINE: Final = "routine:"


def routine_key(name: str) -> str:
    """Return the key of the document that stores the function ``name``; case doesn't matter."""
    return ROUTINE + name.lower()


def encode_routine(routine: Routine) -> bytes:
    """Encode a function as the content of its document."""
    return codec.encode(routine)


def decode_routine(content: bytes) -> Routine:
    """Decode a function from the content of its document."""
    return codec.decode(content, Routine)
