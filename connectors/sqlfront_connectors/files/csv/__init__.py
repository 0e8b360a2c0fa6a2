"""CSV files: ``csv_format`` reads them as Spark's parser does; the other files are the parts of the reader.

Reading order: ``settings`` (the options), ``dialect`` and ``tokenizer`` (the grammar; ``wide_separators`` for
separators of several characters), ``lines`` (bytes, texts and lines), ``values`` (texts to values),
``inference``, ``agreement`` (the cases in which Arrow's reader agrees with Spark), ``csv_format``,
``writer``.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "csv_format")
