"""CSV files: ``csv_format`` reads them as Spark's parser does; the other files are the parts of the reader.

Reading order: ``settings`` (the options), ``dialect`` and ``tokenizer`` (the grammar; ``wide_separators`` for
separators of several characters), ``lines`` (bytes, texts and lines), ``values`` (texts to values),
``inference``, ``agreement`` (the cases in which Arrow's reader agrees with Spark), ``csv_format``,
``writer``.
"""
