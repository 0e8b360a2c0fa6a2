"""How aggregate functions compute: grouped, in three vectorised steps over plain state columns.

``update`` turns argument rows into one state row per group, ``merge`` turns state rows into one state row per
group, ``finish`` turns states into results. States are ordinary Arrow columns in physical form, so that they
travel between a partial and a final aggregation as any batch does, and a window can use them too.
:mod:`sqlfront_values.functions.aggregates.registry` says which function uses which accumulator.
"""
