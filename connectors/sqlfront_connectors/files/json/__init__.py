"""JSON records read as Spark's JacksonParser reads them.

In: the bytes of a file. Out: batches of the wanted columns, or the types of the records. Reading order:
``settings`` (options), ``records`` (lines and encodings), ``inference`` (types of records, and how they
merge), ``quick`` (Arrow's reader, where the bytes prove that it agrees), ``lines`` and ``line_kinds`` (plain
lines, by the standard library's scanner), ``moments``, ``values`` and ``reading`` (anything else, token by
token, with Spark's way to go on behind an error), ``columns``, ``conditions`` (what Spark checks around its
parser). The tokens are those of :mod:`sqlfront_values.functions.json.tokens`.
"""
