"""The parser of the grammar ``statements.lark``.

lark computes a grammar's parse tables in 0.4 s and loads saved ones in a tenth of that, so a build of the
package saves the tables beside the grammar (``hatch_build.py``). After a change of the grammar, and until the
next build, each process computes the tables.
"""

import pickle
from contextlib import suppress
from importlib.resources import files
from typing import BinaryIO, Final

import lark

GRAMMAR_FILE: Final = "statements.lark"
#: The file of the saved tables: a pickled pair of lark's version and the grammar's text, then what
#: ``lark.Lark.save`` writes.
TABLES_FILE: Final = "statements.tables"
_PACKAGE: Final = "sqlfront_planner.statements"


def grammar_text() -> str:
    """Return the text of ``statements.lark``, the grammar of the statements other than queries, DELETE and
    UPDATE."""
    return files(_PACKAGE).joinpath(GRAMMAR_FILE).read_text(encoding="utf-8")


def build_parser(grammar: str) -> lark.Lark:
    """Compute the parse tables of a grammar, which takes 0.4 s, and return the parser."""
    return lark.Lark(grammar, parser="lalr", lexer="contextual", maybe_placeholders=False)


def load_parser(grammar: str) -> lark.Lark:
    """Return the parser of a grammar. Its parse tables are read from the package's file of saved tables if
    the same version of lark made them of the same text; otherwise they are computed."""
    with suppress(FileNotFoundError), files(_PACKAGE).joinpath(TABLES_FILE).open("rb") as saved:
        if pickle.load(saved) == (lark.__version__, grammar):
            return lark.Lark.load(saved)
    return build_parser(grammar)


def save_parser(grammar: str, target: BinaryIO) -> None:
    """Compute the parse tables of a grammar and write them to ``target``."""
    pickle.dump((lark.__version__, grammar), target)
    build_parser(grammar).save(target)
