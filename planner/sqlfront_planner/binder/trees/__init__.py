"""Access to sqlglot's tree: the table of handlers for node classes (``handlers``), Spark's grouping of
operators (``precedence``, ``chains``), and the meaning of literals and type names (``constants``,
``interval_literals``, ``type_names``).
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "chains", "interval_literals", "precedence", "type_names")
