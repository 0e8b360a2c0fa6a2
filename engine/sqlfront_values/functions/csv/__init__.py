"""The grammar of CSV records, as Spark's parser (univocity-parsers) reads them, and the values and types of
their fields: for the files of ``USING csv`` and for the functions over CSV texts.

Reading order: ``settings`` (the options), ``dialect`` and ``tokenizer`` (the grammar; ``wide_separators`` for
separators of several characters), ``values`` (texts to values), ``inference`` (types of texts),
``line_writer`` and ``value_texts`` (values to texts), ``options`` and ``texts`` (the functions).
"""
