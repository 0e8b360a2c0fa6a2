"""The parts of reading CSV files as Spark's parser does; ``csv_format`` puts them together.

Reading order: ``settings`` (the options), ``dialect`` and ``tokenizer`` (the grammar; ``wide_separators`` for
separators of several characters), ``lines`` (bytes, texts and lines), ``values`` (texts to values),
``inference``, ``agreement`` (where Arrow's reader is as good), ``writer``.
"""
