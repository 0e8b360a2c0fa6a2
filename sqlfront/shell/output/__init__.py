"""Output formats: the rows of a result as bytes.

In comes a :class:`~sqlfront.results.result.Result`, out goes a stream of bytes (texts in UTF-8), batch by
batch. Begin with :mod:`.formats`: the names of the formats, and :func:`~.formats.write_result`. Each format
is a module with one function ``write``, loaded at the first use of the format. :mod:`.options` has what a
user may choose; :mod:`.texts` the cells as Arrow strings, which formats of text share; :mod:`.delimited` what
``csv`` and ``tsv`` share, :mod:`.json_texts` what ``json`` and ``jsonl`` share, :mod:`.cut_streams` what
``arrow`` and ``parquet`` share.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(
    __name__,
    "arrow",
    "csv",
    "cut_streams",
    "delimited",
    "html",
    "json",
    "json_texts",
    "jsonl",
    "markdown",
    "nothing",
    "parquet",
    "table",
    "texts",
    "tsv",
    "vertical",
)
