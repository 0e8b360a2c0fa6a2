"""CSV files: ``csv_format`` reads them as Spark's parser does; the other files are the parts of the reader.

Reading order: ``lines`` (bytes, texts and lines), ``agreement`` (the cases in which Arrow's reader agrees
with Spark), ``csv_format``, ``writer``. The grammar, the values and the types of fields are those of
:mod:`sqlfront_values.functions.csv`.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "csv_format")
