"""The parts of a CSV reader that agrees with Spark's parser; ``csv_format`` combines them.

Reading order: ``settings`` (the options), ``dialect`` and ``tokenizer`` (the grammar; ``wide_separators`` for
separators of several characters), ``lines`` (bytes, texts and lines), ``values`` (texts to values),
``inference``, ``agreement`` (the cases in which Arrow's reader agrees with Spark), ``writer``.
"""
