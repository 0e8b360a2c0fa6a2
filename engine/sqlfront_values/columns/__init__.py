"""Operations of operators and aggregates on whole columns, vectorised in numpy.

The input is Arrow arrays in physical form, the output arrays or plain integer vectors. In reading order:
:mod:`~sqlfront_values.columns.batches` (join, gather and cut columns),
:mod:`~sqlfront_values.columns.encoding` (columns of any type as integers that are equal exactly where the
values are), :mod:`~sqlfront_values.columns.grouping` (rows of equal keys get one dense number),
:mod:`~sqlfront_values.columns.matching` (numbers for keys that are looked up later: the lookup side of a
join), :mod:`~sqlfront_values.columns.ordering` (columns as integers that sort like the values),
:mod:`~sqlfront_values.columns.window_rows` (rows by partition and order). Below these modules are
``hashing``, ``text`` and ``presence`` (tables of integers, of strings, of the keys that exist at all) and
``lists``. ``reading`` and ``tuples`` are for few rows: single values as Python objects, and tuples of values.

Equality is that of SQL's grouping everywhere: NaN equals NaN, -0.0 equals 0.0, null equals null unless said
otherwise. No module uses Acero: a plan costs more than a small query, and Acero's hash tables are slower than
direct addressing.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "batches")
