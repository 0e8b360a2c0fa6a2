"""Marks that :mod:`sqlfront_planner.tokens.rewriting` leaves in tokens, and so in sqlglot's tree, for the
binder. No text of a statement can be one."""

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
    """The right side of ``IS`` in ``IS NOT NULL``: a token's text, which sqlglot's parser keeps as the value
    of a string literal. A string of the statement is never an instance of this class."""

    __slots__ = ()


class PositionalParameter(str):
    """The name of a parameter ``?``: ``?0`` for the statement's first. The name of a named parameter, such as
    :`?0`, is never an instance of this class.

    >>> PositionalParameter.at(2), PositionalParameter.at(2).position
    ('?2', 2)
    """

    __slots__ = ()

    @classmethod
    def at(cls, position: int) -> Self:
        """The name of the parameter at a position, from 0."""
        return cls(f"?{position}")

    @property
    def position(self) -> int:
        """The position among the statement's parameters, from 0."""
        return int(self[1:])
