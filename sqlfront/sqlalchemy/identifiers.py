"""Names in SQL: backticks, and the words that need them."""

from typing import Final

from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import IdentifierPreparer

#: The words that the standard and Spark with ``spark.sql.ansi.enforceReservedKeywords`` reserve, and those
#: that can't name a table in a join.
RESERVED: Final = frozenset(
    """
    all and anti any array as at authorization between both by case cast check collate column constraint
    create cross current current_date current_time current_timestamp current_user date day delete describe
    distinct div drop else end escape except exists explain false fetch filter for foreign from full function
    global grant group having hour if ilike in inner insert intersect interval into is join lateral leading
    left like limit local map match minus minute month natural no not null of offset on only or order outer
    overlaps partition pivot position primary qualify range recursive references regexp right rlike row rows
    second select semi session_user set some start struct sql table tablesample then time timestamp
    timestamp_ntz to trailing true truncate union unique unknown unpivot update user using values view when
    where window with within year div
    """.split()  # noqa: SIM905 - a text is read at a glance
)


class SqlfrontIdentifierPreparer(IdentifierPreparer):
    """The rules by which SQLAlchemy quotes names: backticks around reserved words and around names that
    aren't plain words in small letters."""

    reserved_words = set(RESERVED)  # noqa: RUF012 - SQLAlchemy's form

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect, initial_quote="`", escape_quote="`")
