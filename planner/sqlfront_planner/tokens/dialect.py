"""Spark's dialect for reading: the settings of sqlglot's tokenizer and parser, without sqlglot's generators.

Loading sqlglot's own ``Spark`` dialect also loads the generators and optimizer typings of three dialects,
which a process that only reads SQL doesn't need (a fifteenth of the CPU time of ``import sqlglot, pyarrow``).
The settings here are those of ``sqlglot.dialects.spark.Spark`` and its bases; tests/planner/test_dialect.py
compares every one of them with the installed sqlglot.
"""

from typing import Final

from sqlglot import generator, jsonpath, tokens
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.expressions import DType
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

_COMMANDS: Final = (
    "ADD ARCHIVE", "ADD ARCHIVES", "ADD FILE", "ADD FILES", "ADD JAR", "ADD JARS", "MSCK REPAIR",
)  # fmt: skip


class SparkSyntax(Dialect):
    """Spark's dialect for reading, without sqlglot's generator for Spark. To write the text of a tree, use
    ``tree.sql("spark")``, which loads the generator."""

    ALIAS_POST_TABLESAMPLE = True
    ALTER_TABLE_SUPPORTS_CASCADE = False
    ARRAY_AGG_INCLUDES_NULLS = None
    ARRAY_FUNCS_PROPAGATES_NULLS = True
    CONCAT_WS_COALESCE = True
    HAVING_ALIASES_SHADOW_UNGROUPED_COLUMNS = True
    IDENTIFIERS_CAN_START_WITH_DIGIT = True
    INITCAP_DEFAULT_DELIMITER_CHARS = " "
    INTERSECT_BINDS_TIGHTER_THAN_UNION_AND_EXCEPT = True
    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_INSENSITIVE
    PREFER_COLUMNS_TO_ALIASES_IN_HAVING_AND_QUALIFY = True
    REGEXP_EXTRACT_DEFAULT_GROUP = 1
    SAFE_DIVISION = True
    SUPPORTS_LIMIT_ALL = True
    SUPPORTS_NULL_TYPE = True
    SUPPORTS_ORDER_BY_ALL = True
    SUPPORTS_USER_DEFINED_TYPES = False

    DATE_FORMAT = "'yyyy-MM-dd'"
    DATEINT_FORMAT = "'yyyyMMdd'"
    TIME_FORMAT = "'yyyy-MM-dd HH:mm:ss'"
    TIME_MAPPING = {
        "y": "%Y", "Y": "%Y", "YYYY": "%Y", "yyyy": "%Y", "YY": "%y", "yy": "%y",
        "MMMM": "%B", "MMM": "%b", "MM": "%mstrict", "M": "%-m",
        "dd": "%dstrict", "d": "%-d", "DD": "%j", "D": "%-j",
        "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A",
        "HH": "%Hstrict", "H": "%-H", "hh": "%Istrict", "h": "%-I", "a": "%p",
        "mm": "%Mstrict", "m": "%-M", "ss": "%Sstrict", "s": "%-S", "SSSSSS": "%f", "z": "%Z", "Z": "%z",
    }  # fmt: skip
    UNESCAPED_SEQUENCES = {
        "\\0": "\0",
        "\\Z": "\x1a",
        "\\%": "\\%",
        "\\_": "\\_",
        "\\a": "a",
        "\\f": "f",
        "\\v": "v",
    }

    class Tokenizer(tokens.Tokenizer):
        """The tokenizer of Spark's SQL: the words, quotes and comments that Spark knows."""

        QUOTES = ["'", '"']
        RAW_STRINGS = [(prefix + quote, quote) for quote in "'\"" for prefix in "rR"]
        HEX_STRINGS = [("X'", "'"), ("x'", "'")]
        IDENTIFIERS = ["`"]
        STRING_ESCAPES = ["\\"]
        STRING_ESCAPES_ALLOWED_IN_RAW_STRINGS = False
        NUMERIC_ESCAPES = {
            "u": (16, 4, 4, 0xFFFF),
            "U": (16, 8, 8, 0x10FFFF),
            "0": (8, 3, 3, 0x7F),
        }
        DROP_UNKNOWN_ESCAPES = True
        LONE_SURROGATE_REPLACEMENT = "?"
        NUMERIC_LITERALS = {
            "L": "BIGINT",
            "S": "SMALLINT",
            "Y": "TINYINT",
            "D": "DOUBLE",
            "F": "FLOAT",
            "BD": "DECIMAL",
        }
        SINGLE_TOKENS = {
            **tokens.Tokenizer.SINGLE_TOKENS,
            "$": TokenType.PARAMETER,
        }
        KEYWORDS = {
            **tokens.Tokenizer.KEYWORDS,
            **dict.fromkeys(_COMMANDS, TokenType.COMMAND),
            "DECLARE": TokenType.DECLARE,
            "MINUS": TokenType.EXCEPT,
            "REFRESH": TokenType.REFRESH,
            "SERDEPROPERTIES": TokenType.SERDE_PROPERTIES,
            "TIMESTAMP": TokenType.TIMESTAMPTZ,
        }

    class JSONPathTokenizer(jsonpath.JSONPathTokenizer):
        """Spark's tokenizer of JSON paths: a name may contain hyphens."""

        VAR_TOKENS = {
            *jsonpath.JSONPathTokenizer.VAR_TOKENS,
            TokenType.DASH,
        }

    Parser = SparkParser

    class Generator(generator.Generator):
        """Spark's names of types. The parser generates these names to compare types, in ``exp.cast``."""

        TYPE_MAPPING = {
            **generator.Generator.TYPE_MAPPING,
            DType.BIT: "BOOLEAN",
            DType.BLOB: "BINARY",
            DType.DATETIME: "TIMESTAMP",
            DType.MONEY: "DECIMAL",
            DType.ROWVERSION: "BINARY",
            DType.SMALLMONEY: "DECIMAL",
            DType.TEXT: "STRING",
            DType.TIMESTAMPLTZ: "TIMESTAMP_LTZ",
            DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
            DType.TIMESTAMPTZ: "TIMESTAMP",
            DType.UTINYINT: "SMALLINT",
            DType.UUID: "STRING",
            DType.VARBINARY: "BINARY",
        }


SPARK: Final = SparkSyntax()
