"""Computation of aggregate functions: grouped, in three vectorised steps over plain state columns.

``update`` turns argument rows into one state row per group, ``merge`` turns state rows into one state row per
group, ``finish`` turns states into results. States are ordinary Arrow columns in physical form, so that they
travel between a partial and a final aggregation like any batch, and a window can use them too.
:mod:`sqlfront_values.functions.aggregates.registry` maps each function to its accumulator.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "top_k", "variant_schemas")
