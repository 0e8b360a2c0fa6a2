"""Statements, as frozen structs (``structs``), and the parsers that make the structs from a text.

``query_parser`` turns a query into sqlglot's tree. ``commands`` parses all other statements by the grammar
``statements.lark``, whose trees ``command_builder`` translates; DELETE and UPDATE go through
``modification_parser``. ``dotted_names`` reads the names of relations. The entry is
:func:`sqlfront_planner.statement.parse`.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "commands")
