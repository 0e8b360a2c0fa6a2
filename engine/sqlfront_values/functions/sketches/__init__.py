"""Sketches of Apache DataSketches: small summaries of many values, by the library of that name (the extra
``sketches``), whose bytes are those of the Java library that Spark has.

:mod:`.family` is the contract of a kind of sketch for aggregates; :mod:`.hll` and :mod:`.theta` estimate
numbers of different values, :mod:`.kll` quantiles. :mod:`.kll_layout` reads the bytes of KLL sketches,
without the library. :mod:`.distinct_functions` and :mod:`.quantile_functions` have the SQL functions that
aren't aggregates.
"""
