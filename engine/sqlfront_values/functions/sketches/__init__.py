"""Sketches of Apache DataSketches: small summaries of many values, by the library of that name (the extra
``sketches``), whose bytes are those of the Java library that Spark has.

:mod:`.family` is the contract of a kind of sketch for aggregates; :mod:`.hll` and :mod:`.theta` estimate
numbers of different values, :mod:`.kll` quantiles, :mod:`.top_k` the most frequent items.
:mod:`.kll_layout` reads the bytes of KLL sketches, :mod:`.frequent_items` has the sketches of items,
both without the library. :mod:`.distinct_functions`, :mod:`.quantile_functions` and
:mod:`.top_k_functions` have the SQL functions that aren't aggregates.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "item_kinds", "top_k")
