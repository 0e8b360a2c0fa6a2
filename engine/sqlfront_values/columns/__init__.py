"""What the operators and the aggregates do with whole columns, vectorised in numpy.

In come Arrow arrays in physical form, out go arrays or plain integer vectors. To be read in this order:
:mod:`~sqlfront_values.columns.batches` (join, gather and cut columns),
:mod:`~sqlfront_values.columns.encoding` (columns of any type as integers that are equal exactly where the
values are), :mod:`~sqlfront_values.columns.grouping` (rows of equal keys get one dense number),
:mod:`~sqlfront_values.columns.matching` (the same for keys that are met later: the lookup side of a join),
:mod:`~sqlfront_values.columns.ordering` (columns as integers that sort like the values),
:mod:`~sqlfront_values.columns.window_rows` (rows by partition and order). Under these lie ``hashing``,
``text`` and ``presence`` (tables of integers, of strings, of keys that are there at all) and ``lists``.
``reading`` and ``tuples`` are for few rows: single values as Python's, and tuples of them.

Equality is that of SQL's grouping everywhere: NaN equals NaN, -0.0 equals 0.0, null equals null unless said
otherwise. Nothing here uses Acero: a plan costs more than a small query, and its hash tables lose to direct
addressing.
"""
