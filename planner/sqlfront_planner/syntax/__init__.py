"""A recognizer of Spark SQL: decides whether Spark's parser accepts a text, without Spark.

:mod:`~sqlfront_planner.syntax.lexer` finds the tokens, :mod:`~sqlfront_planner.syntax.recognizer` follows the
tokens through the grammar (``spark.grammar``, read by :mod:`~sqlfront_planner.syntax.grammar`). The result is
that the text is valid, or the first token that Spark's parser can't accept. sqlglot builds the trees, but
only the grammar decides about syntax errors.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "comments")
