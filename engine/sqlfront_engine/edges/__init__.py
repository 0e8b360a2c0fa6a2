"""Edges at run time: the queues between tasklets.

``queues`` has the bounded queue between one producer and one consumer; ``routing`` combines queues by an
edge's routing, ``merging`` merges sorted inputs; ``exchange`` has the two ends of an edge between members.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "merging")
