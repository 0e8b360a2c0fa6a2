"""The tokens of a query's text: made by ``tokenizing``, bounded by ``nesting``, checked by ``checks``, and
rewritten by ``rewriting``, so that sqlglot's parser keeps all details that Spark's answers depend on.
``marks`` are what the rewriting leaves for the binder. ``parameters`` finds the parameters of a text.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "nesting")
