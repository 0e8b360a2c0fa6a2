"""Whether Spark's parser takes a text, without Spark.

:mod:`~sqlfront_planner.syntax.lexer` finds the tokens, :mod:`~sqlfront_planner.syntax.recognizer` follows
them through the grammar (``spark.grammar``, read by :mod:`~sqlfront_planner.syntax.grammar`). The answer is
yes, or the first token that Spark's parser can't take. Trees are for sqlglot to build; whatever it lets pass
or fails on, only the grammar says what is a syntax error.
"""
