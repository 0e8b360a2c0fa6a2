"""Spark's dialect for reading has the settings of sqlglot's own Spark dialect."""

import inspect
from typing import Any

from sqlglot.dialects.spark import Spark

from sqlfront_planner.tokens.dialect import SparkSyntax

#: Settings that only sqlglot's optimizer reads, and what the body of the class Hive leaves behind.
FOR_THE_OPTIMIZER = {"COERCES_TO", "EXPRESSION_METADATA", "target_type"}
#: Classes, which are compared by their own settings, and the generator, which reading doesn't need.
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


def test_the_tokenizers_have_the_settings_of_sqlglots_spark() -> None:
    assert settings(SparkSyntax.tokenizer_class) == settings(Spark.tokenizer_class)
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
