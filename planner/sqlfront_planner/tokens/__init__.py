"""The tokens of a query's text: made by ``tokenizing``, bounded by ``nesting``, checked by ``checks``, and
rewritten by ``rewriting``, so that sqlglot's parser keeps all details that Spark's answers depend on.
``parameters`` finds the parameters of a text.
"""
