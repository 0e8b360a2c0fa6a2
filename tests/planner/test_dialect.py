"""Spark's dialect for reading has the settings of sqlglot's own Spark dialect."""

import inspect
from typing import Any

import pytest
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from sqlfront_planner.tokens.dialect import SPARK, SparkSyntax

#: Settings that only sqlglot's optimizer reads, and what the body of the class Hive leaves behind.
FOR_THE_OPTIMIZER = {"COERCES_TO", "EXPRESSION_METADATA", "target_type"}
#: Classes, which are compared by their own settings; of the generator, reading needs the names of types.
CLASSES = {
    "Generator",
    "generator_class",
    "JSONPathTokenizer",
    "jsonpath_tokenizer_class",
    "Tokenizer",
    "tokenizer_class",
}


def settings(cls: type) -> dict[str, Any]:
    """The attributes of a class, inherited ones too, without methods."""
    return {
        name: value
        for name, value in inspect.getmembers(cls)
        if not name.startswith("__") and not inspect.isroutine(value) and name not in CLASSES
    }


def test_the_dialect_has_the_settings_of_sqlglots_spark() -> None:
    theirs = settings(Spark)
    assert {"TIME_MAPPING", "UNESCAPED_SEQUENCES", "parser_class"} <= theirs.keys()
    assert {name: value for name, value in theirs.items() if name not in FOR_THE_OPTIMIZER} == {
        name: value for name, value in settings(SparkSyntax).items() if name not in FOR_THE_OPTIMIZER
    }


def test_tokenizers_and_names_of_types_have_the_settings_of_sqlglots_spark() -> None:
    assert settings(SparkSyntax.tokenizer_class) == settings(Spark.tokenizer_class)
    names = dict(Spark.generator_class.TYPE_MAPPING)
    del names[exp.DType.TIME]  # TIMESTAMP there, since Spark had no TIME
    assert names == SparkSyntax.generator_class.TYPE_MAPPING
    assert settings(SparkSyntax.jsonpath_tokenizer_class) == settings(Spark.jsonpath_tokenizer_class)


def test_the_dialect_overrides_the_methods_that_sqlglots_spark_overrides() -> None:
    def overridden(cls: type) -> set[str]:
        base = next(base for base in cls.__mro__ if base.__name__ == "Dialect")
        return {
            name
            for name, value in inspect.getmembers(cls, inspect.isfunction)
            if value is not getattr(base, name, None)
        }

    assert overridden(SparkSyntax) == overridden(Spark)


TEXTS = (
    # `exp.cast` compares the names of two types.
    "SELECT from_utc_timestamp(TIMESTAMP'2020-01-01', 'Asia/Tokyo'), to_utc_timestamp(date(a), 'UTC')",
    "SELECT DATE_FORMAT(a, 'MM/dd'), 2BD, 1L, 0.5F, x'0F', r'\\n', 'a\\u0041\\0', $1 FROM `b`",
    "SELECT get_json_object(a, '$.b-c'), a::int, array_agg(x) FROM t MINUS SELECT initcap(x)",
    "SELECT * FROM t TABLESAMPLE (5 PERCENT) u",
    "SELECT TIMESTAMP '2020-01-01' + INTERVAL 1 DAY GROUP BY ALL HAVING a > 1 ORDER BY ALL LIMIT ALL",
    "REFRESH TABLE t",
    "MSCK REPAIR TABLE t",
    "ADD JARS a b",
    "DECLARE x INT = 1",
)


@pytest.mark.parametrize("text", TEXTS)
def test_trees_are_those_of_sqlglots_spark(text: str) -> None:
    trees = SPARK.parser().parse(SPARK.tokenize(text), text)
    assert repr(trees) == repr(Spark().parser().parse(Spark().tokenize(text), text))
