"""Marks that :mod:`sqlfront_planner.tokens.rewriting` leaves in tokens, and so in sqlglot's tree, for the
binder. A mark is an instance of a subclass of ``str``, and so differs from every text of a statement."""

from typing import Final, Self, TypeAlias

from sqlglot import exp

#: The prefix of the name of a function call.
FUNCTION_MARK: Final = "f$"
#: The kind of a written CROSS JOIN, as opposed to a comma. Kinds of joins are texts of keywords only.
EXPLICIT_CROSS: Final = "CROSS JOIN"
#: The node of ``+x``. sqlglot's classes are compiled and can't be subclassed; the token rewriting makes this
#: node from an operator that Spark's grammar lacks, and every call of a function is an ``exp.Anonymous``.
UnaryPlus: TypeAlias = exp.Sqrt
#: The node of ``a >>> b``, as :data:`UnaryPlus`: ``this`` is ``a``, ``expressions`` is ``[b]``.
ShiftRightUnsigned: TypeAlias = exp.Coalesce


class NotNullMark(str):
    """The right side of ``IS`` in the rewritten tokens of ``IS NOT NULL``. sqlglot's parser takes it for a
    string literal and keeps it as the literal's value; the binder recognizes it by its class, since the
    string literals of a statement are plain ``str``."""

    __slots__ = ()


class ExtractionPath(str):  # noqa: SLOT000 - a subclass of str takes no slots that hold something
    """The index of a Bracket in the rewritten tokens of ``v:a.b[0]``, which reads a part of a variant: the
    path ``$.a.b[0]``. ``name`` is the last name in the path, which the result's column gets; None if the path
    has none. The indexes of a statement's own brackets are plain ``str``."""

    name: str | None

    def __new__(cls, path: str, name: str | None) -> Self:
        """Make the mark of a path."""
        mark = super().__new__(cls, path)
        mark.name = name
        return mark


class PositionalParameter(str):
    """The name of a parameter ``?``: ``?0`` for the statement's first. The name of a named parameter, even of
    :`?0`, is a plain ``str``.

    >>> PositionalParameter.at(2), PositionalParameter.at(2).position
    ('?2', 2)
    """

    __slots__ = ()

    @classmethod
    def at(cls, position: int) -> Self:
        """Return the name of the parameter ``?`` at ``position``, counted from 0."""
        return cls(f"?{position}")

    @property
    def position(self) -> int:
        """The parameter's position among the statement's parameters ``?``, counted from 0."""
        return int(self[1:])


class PipeMark(str):
    """A text that the rewriting of ``|>`` makes, in place of a text of the statement, a plain ``str``: the
    alias of the derived table that a step reads, or the position of a key in GROUP BY. The alias is the
    step if it has rules of its own (``extend``, ``set``, ``drop``, ``aggregate``), else ``|>``."""

    __slots__ = ()


class RecursionMark(str):
    """The name of a common table expression with ``MAX RECURSION LEVEL n``; ``level`` is the text of n.

    >>> mark = RecursionMark.of("r", "5")
    >>> mark, mark.level
    ('r', '5')
    """

    __slots__ = ("level",)
    level: str

    @classmethod
    def of(cls, name: str, level: str) -> Self:
        """Return the mark of the expression ``name`` whose clause has the number ``level``."""
        mark = cls(name)
        mark.level = level
        return mark
