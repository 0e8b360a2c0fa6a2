"""The tokens of a query's text: made by ``tokenizing``, limited in depth by ``nesting``, checked by
``checks``, and rewritten by ``rewriting``, so that sqlglot's parser keeps all details that Spark's answers
depend on. ``pipes`` rewrites ``|>``, and ``recursions`` the limit of WITH RECURSIVE, before. ``marks`` has
the values by which the rewriting passes such details to the binder; ``extractions`` reads the path of
``v:a.b``. ``parameters`` finds the parameters of a text; ``kept_escapes`` rewrites a text whose string
literals keep their escapes.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "extractions", "kept_escapes", "nesting", "pipes", "recursions")
