"""Spark's hash partitioning, which gives the number of the partition that a key's rows belong to.

``partitions`` computes the partitions of the rows of whole columns, ``scalar_hash`` the hash of a single key
in plain Python, for lookups.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "partitions")
