"""The parser of the grammar ``statements.lark``.

lark computes a grammar's parse tables in 0.4 s and loads saved ones in a tenth of that, so a build of the
package saves the tables beside the grammar (``hatch_build.py``). Until the next build a changed grammar is
parsed by tables that each process computes.
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
    """The text of ``statements.lark``."""
    return files(_PACKAGE).joinpath(GRAMMAR_FILE).read_text(encoding="utf-8")


def build_parser(grammar: str) -> lark.Lark:
    """Compute the parse tables of a grammar."""
    return lark.Lark(grammar, parser="lalr", lexer="contextual", maybe_placeholders=False)


def load_parser(grammar: str) -> lark.Lark:
    """The parser of a grammar: from the saved tables if the same version of lark, which owns their format,
    made them of the same text; else from tables that are computed now."""
    with suppress(FileNotFoundError), files(_PACKAGE).joinpath(TABLES_FILE).open("rb") as saved:
        if pickle.load(saved) == (lark.__version__, grammar):
            return lark.Lark.load(saved)
    return build_parser(grammar)


def save_parser(grammar: str, target: BinaryIO) -> None:
    """Compute the parse tables of a grammar and write them to ``target``."""
    pickle.dump((lark.__version__, grammar), target)
    build_parser(grammar).save(target)
