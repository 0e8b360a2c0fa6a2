"""JSON records, read as Spark's JacksonParser reads them.

In: the bytes of a file. Out: batches of the wanted columns, or the types of the records.

A record is read by the quickest of three readers that certainly agrees with Spark: Arrow's reader
(``typed.quick``), the scanner of Python's standard library for lines that hold one plain object
(``lines``, and ``line_kinds`` for types), or the *careful reader*, token by token, with Spark's continuation
after an error (``reading``).

Reading order: ``records`` (lines and encodings), ``lines``, ``line_kinds``, ``reading``, ``conditions``
(Spark's checks around its parser), ``json_format`` (the format). Options, types and values are those of
:mod:`sqlfront_values.functions.json.typed`.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "json_format")
