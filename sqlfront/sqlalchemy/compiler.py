"""The compiler of SQLAlchemy's queries and changes to Spark's SQL."""

import pyarrow as pa
from sqlalchemy import exc
from sqlalchemy import types as sqltypes
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler

from sqlfront.literal_texts import literal_of, string_literal
from sqlfront.sqlalchemy.elements import AnyType, Element, Option, Value
from sqlfront.sqlalchemy.types import MAP, STRUCT
from sqlfront_values.errors import DataError


class SqlfrontCompiler(SQLCompiler):
    """The compiler of SQLAlchemy's expressions and statements to Spark's SQL. Each method writes one kind of
    element whose SQL differs from the standard's."""

    def render_literal_value(self, value: Value, type_: AnyType) -> str:
        """Return the SQL literal of a value, which means the same as the value passed as a parameter. Raises
        CompileError for a value without a literal."""
        if isinstance(type_, sqltypes.TypeDecorator) and _has_own_literals(type_):
            return super().render_literal_value(value, type_)
        if value is None and not type_.should_evaluate_none:
            return "NULL"
        processor = type_._cached_bind_processor(self.dialect)
        try:
            return literal_of(value if processor is None else processor(value))
        except (DataError, pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise exc.CompileError(
                f"Could not render literal value {value!r} with datatype {type_}: {error}"
            ) from error

    # ---- clauses

    def limit_clause(self, select: Element, **kw: Option) -> str:
        """Return the LIMIT and OFFSET of a query; Spark allows OFFSET without LIMIT."""
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def fetch_clause(self, select: Element, **kw: Option) -> str:
        """Return a LIMIT for FETCH FIRST, which Spark lacks, and the OFFSET. Raises CompileError for WITH
        TIES and PERCENT."""
        options = select._fetch_clause_options
        if options["with_ties"] or options["percent"]:
            raise exc.CompileError("Spark has no FETCH with ties or percent; use LIMIT, or rank() OVER (...)")
        text = "\n LIMIT " + self.process(select._fetch_clause, **kw)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **kw)
        return text

    def for_update_clause(self, select: Element, **kw: Option) -> str:
        """Return an empty text for FOR UPDATE: a query reads one version of each table, without locks."""
        return ""

    def update_from_clause(self, *args: Option, **kw: Option) -> str:
        """Raise CompileError: Spark's UPDATE reads no second table."""
        raise exc.CompileError("Spark's UPDATE has no FROM; use a subquery in SET or WHERE")

    def delete_extra_from_clause(self, *args: Option, **kw: Option) -> str:
        """Raise CompileError: Spark's DELETE reads no second table."""
        raise exc.CompileError("Spark's DELETE has no USING; use a subquery in WHERE")

    def visit_empty_set_op_expr(self, type_: Element, expand_op: Element, **kw: Option) -> str:
        """Return the text between the parentheses that SQLAlchemy writes for IN or NOT IN with an empty list:
        nulls of the operand's type, then a condition that makes the whole false (IN) or true (NOT IN)."""
        nulls = ", ".join(f"CAST(NULL AS {self._type(kind)})" for kind in type_)
        end = ") OR (1 = 1" if expand_op is operators.not_in_op else ") AND (1 != 1"
        return (f"({nulls})" if len(type_) > 1 else nulls) + end

    def visit_empty_set_expr(self, element_types: Element, **kw: Option) -> str:
        """Return a query without rows, for IN over an empty list."""
        columns = ", ".join(f"CAST(NULL AS {self._type(kind)})" for kind in element_types)
        return f"SELECT {columns} WHERE 1 != 1"

    def _type(self, kind: AnyType) -> str:
        if isinstance(kind, sqltypes.NullType):
            return "INT"
        return self.dialect.type_compiler.process(kind)

    def visit_tablesample(self, tablesample: Element, asfrom: bool = False, **kw: Option) -> str:
        """Return a TABLESAMPLE clause whose size is a percentage."""
        method = tablesample._get_method()
        percent = ", ".join(self.process(clause, **kw) for clause in method.clauses)
        text = f"{self.visit_alias(tablesample, asfrom=True, **kw)} TABLESAMPLE ({percent} PERCENT)"
        if tablesample.seed is None:
            return text
        return f"{text} REPEATABLE ({self.process(tablesample.seed, **kw)})"

    # ---- operators

    def visit_getitem_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of an index operator: a struct's field, the value of a map's key (an unknown key is
        Spark's null), or an array's item, counted from 1 (null beyond the end). Raises CompileError for other
        types."""
        left = self.process(binary.left, **kw)
        kind = binary.left.type
        if isinstance(kind, STRUCT):
            return f"{left}.{self.preparer.quote_identifier(binary.right.name)}"
        right = self.process(binary.right, **kw)
        if isinstance(kind, MAP):
            return f"{left}[{right}]"
        if isinstance(kind, sqltypes.ARRAY):
            return f"try_element_at({left}, {right})"
        raise exc.CompileError(f"values of type {kind!r} have no items in SQL")

    def visit_ilike_op_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of a match with a pattern in which case doesn't count. Spark has ILIKE, so that the
        SQL needs no ``lower``."""
        return self._like("ILIKE", binary, **kw)

    def visit_not_ilike_op_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of a test that a pattern, in which case doesn't count, does not match. Spark has NOT
        ILIKE, so that the SQL needs no ``lower``."""
        return self._like("NOT ILIKE", binary, **kw)

    def _like(self, word: str, binary: Element, **kw: Option) -> str:
        escape = binary.modifiers.get("escape")
        text = f"{self.process(binary.left, **kw)} {word} {self.process(binary.right, **kw)}"
        return text if escape is None else f"{text} ESCAPE {string_literal(escape)}"

    def visit_regexp_match_op_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of a match with a regular expression, which is one of Java's: Spark's operator
        RLIKE."""
        pattern = self._pattern(binary, self.process(binary.right, **kw))
        return f"{self.process(binary.left, **kw)} RLIKE {pattern}"

    def visit_not_regexp_match_op_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of a test that a regular expression does not match: NOT and Spark's operator
        RLIKE."""
        return f"NOT ({self.visit_regexp_match_op_binary(binary, operator, **kw)})"

    def visit_regexp_replace_op_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of a replacement by a regular expression, which is one of Java's: a call of
        ``regexp_replace``."""
        pattern, replacement = (self.process(clause, **kw) for clause in binary.right.clauses)
        text = self.process(binary.left, **kw)
        return f"regexp_replace({text}, {self._pattern(binary, pattern)}, {replacement})"

    def _pattern(self, binary: Element, pattern: str) -> str:
        """Return the SQL of a regular expression with its flags in front, as Java writes them: ``(?i)``."""
        flags = binary.modifiers.get("flags")
        return pattern if not flags else f"concat({string_literal(f'(?{flags})')}, {pattern})"

    def visit_mod_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of a remainder, with a single percent sign; SQLAlchemy's own method doubles the
        sign, for drivers that need it."""
        return f"{self.process(binary.left, **kw)} % {self.process(binary.right, **kw)}"

    def visit_floordiv_binary(self, binary: Element, operator: Element, **kw: Option) -> str:
        """Return the SQL of a quotient rounded down, as Python's ``//`` rounds. For integers the quotient is
        computed by DIV, which is exact but rounds towards zero, and then corrected; Spark's slash would make
        DOUBLEs of integers."""
        if not (_is_integer(binary.left) and _is_integer(binary.right)):
            return super().visit_floordiv_binary(binary, operator, **kw)
        left, right = self.process(binary.left, **kw), self.process(binary.right, **kw)
        return f"({left} DIV {right} - IF(sign({left} % {right}) * sign({right}) < 0, 1, 0))"

    # ---- functions

    def visit_random_func(self, function: Element, **kw: Option) -> str:
        """Return the SQL of a random number: a call of Spark's function ``rand``."""
        return f"rand{self.function_argspec(function, **kw) or '()'}"

    def visit_aggregate_strings_func(self, function: Element, **kw: Option) -> str:
        """Return the SQL that joins the texts of a group: a call of Spark's function ``listagg``."""
        kw.pop("use_function_name", None)
        return super().visit_aggregate_strings_func(function, use_function_name="listagg", **kw)


def _is_integer(operand: Element) -> bool:
    return operand.type._type_affinity is sqltypes.Integer


def _has_own_literals(type_: Element) -> bool:
    return type(type_).process_literal_param is not sqltypes.TypeDecorator.process_literal_param
