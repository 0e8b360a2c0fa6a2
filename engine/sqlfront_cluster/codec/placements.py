"""Conversion of placements into bytes and back. A placement says which members run each vertex of a DAG.

Jobs of one plan on one cluster share their placements, so sender and receiver cache placements. The same
bytes are decoded to the same object, whose hash is cached, and by which the DAG finds what it has derived
from the placement.
"""

from typing import Final

from sqlfront_cluster.codec import decode, encode
from sqlfront_engine.plans.placement import Placement
from sqlfront_values.memo import Memo

#: Placements in each cache, and the most bytes of a cached placement. A full cache is emptied. Both bound the
#: memory that other members' messages can fill.
_KEPT: Final = 1024
_LONGEST: Final = 65_536

_encoded: Final = Memo[Placement, bytes](_KEPT)
_decoded: Final = Memo[bytes, Placement](_KEPT)


def encode_placement(placement: Placement) -> bytes:
    """Encode the placement of a job (the members that run the job, and their partitions) for
    :func:`decode_placement`; the bytes come from the cache if they are there."""
    data = _encoded.get(placement)
    if data is None:
        data = encode(placement)
        if len(data) <= _LONGEST:
            _encoded.keep(placement, data)
    return data


def decode_placement(data: bytes) -> Placement:
    """Return the placement of a job (the members that run the job, and their partitions) that
    :func:`encode_placement` has encoded. Raises OperationalError for any other bytes."""
    placement = _decoded.get(data)
    if placement is None:
        placement = decode(data, Placement)
        if len(data) <= _LONGEST:
            _decoded.keep(data, placement)
    return placement
