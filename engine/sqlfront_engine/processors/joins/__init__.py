"""Joins.

``hash_join`` joins on equal keys; ``join_table`` is its build side. ``nested_loop_join`` joins on any
condition. ``join_rows`` makes output batches from pairs of rows for both. ``key_filter`` filters the scan of
one input of a join by the keys of the other input.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "key_filter")
