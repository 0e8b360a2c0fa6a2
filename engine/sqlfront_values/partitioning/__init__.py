"""Spark's hash partitioning: the partition of a key.

``partitions`` computes the partitions of whole columns, ``scalar_hash`` the hash of a single key in plain
Python, for lookups.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "partitions")
