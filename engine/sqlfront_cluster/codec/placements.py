"""Placements to bytes and back.

Jobs of one plan on one cluster share their placements, so both sides cache placements. A known placement is
decoded to the same object, with a cached hash, under which the DAG caches its blueprint.
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
    """Encode a placement for :func:`decode_placement`, or find its encoding in the cache."""
    data = _encoded.get(placement)
    if data is None:
        data = encode(placement)
        if len(data) <= _LONGEST:
            _encoded.keep(placement, data)
    return data


def decode_placement(data: bytes) -> Placement:
    """Decode a placement of :func:`encode_placement`. Raises OperationalError for any other bytes."""
    placement = _decoded.get(data)
    if placement is None:
        placement = decode(data, Placement)
        if len(data) <= _LONGEST:
            _decoded.keep(data, placement)
    return placement
