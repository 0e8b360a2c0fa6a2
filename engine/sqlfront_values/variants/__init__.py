"""Spark's VARIANT: a value of any JSON-like type, in Spark's binary encoding.

A variant consists of two byte strings, as in Spark: ``value``, the encoded value, and ``metadata``, the
dictionary of the names of all its objects' fields. The encoding is that of Spark's class
``org.apache.spark.types.variant.VariantUtil`` (the format's description is in Parquet's
``VariantEncoding.md``), byte for byte, so that variants travel to Spark and back unchanged. A column of
variants holds both in one byte string a row (:mod:`sqlfront_values.arrow.variant_rows`).

Read :mod:`.layout` first, then :mod:`.reading` (a variant as a tree) and :mod:`.building` (a tree as a
variant). The rest stands on these two: :mod:`.texts` (JSON), :mod:`.python_values`, :mod:`.schemas` (types as
``schema_of_variant`` tells them), :mod:`.paths` (``$.a[0]``) and :mod:`.edits` (changes at a path).
"""
