"""JSON records, read as Spark's JacksonParser reads them.

In: the bytes of a file. Out: batches of the wanted columns, or the types of the records. Reading order:
``settings`` (options), ``records`` (lines and encodings), ``inference`` (types of records and their merge),
``quick`` (Arrow's reader, where the bytes prove that it agrees with Spark), ``lines`` and ``line_kinds``
(plain lines, by the standard library's scanner), ``moments``, ``values`` and ``reading`` (all other records,
token by token, with Spark's continuation after an error), ``columns``, ``conditions`` (Spark's checks around
its parser), ``json_format`` (the format). The tokens are those of
:mod:`sqlfront_values.functions.json.tokens`.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "json_format")
