"""JSON texts, read into values of a schema's types as Spark's JacksonParser reads them, and the types of JSON
texts: for the files of ``USING json`` and for the functions ``from_json`` and ``schema_of_json``.

Reading order: ``settings`` and ``function_options`` (the options), ``moments`` (dates and timestamps),
``inference`` (the types of texts and their merge), ``converters`` (tokens to values), ``columns`` (values to
Arrow arrays), ``text_tokens``, ``plain`` (by the scanner of Python's standard library), ``texts`` (single
texts), ``quick`` (many objects, by Arrow's reader) and ``many_texts``.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "many_texts")
