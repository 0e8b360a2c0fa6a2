"""Placements to bytes and back.

Jobs of one plan on one cluster share their placements, so both sides remember them: a placement that was
seen before is the same object again, whose hash is known and with which the DAG keeps its blueprint.
"""

from typing import Final

from sqlfront_cluster.codec import decode, encode
from sqlfront_engine.plans.placement import Placement

#: How many placements each memory holds; a full one is emptied. Longer ones, in bytes, are not remembered.
_KEPT: Final = 1024
_LONGEST: Final = 65_536

_encoded: Final[dict[Placement, bytes]] = {}
_decoded: Final[dict[bytes, Placement]] = {}


def encode_placement(placement: Placement) -> bytes:
    """The placement as bytes."""
    data = _encoded.get(placement)
    if data is None:
        data = encode(placement)
        if len(_encoded) >= _KEPT:
            _encoded.clear()
        if len(data) <= _LONGEST:
            _encoded[placement] = data
    return data


def decode_placement(data: bytes) -> Placement:
    """The placement that :func:`encode_placement` wrote. OperationalError for any other bytes."""
    placement = _decoded.get(data)
    if placement is None:
        placement = decode(data, Placement)
        if len(_decoded) >= _KEPT:
            _decoded.clear()
        if len(data) <= _LONGEST:
            _decoded[data] = placement
    return placement
