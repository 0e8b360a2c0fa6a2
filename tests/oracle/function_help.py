"""Signatures and one-line help of Spark's functions, for the shell's completion, as Spark describes them.

python -m tests.oracle.function_help     asks Spark for all of them, and writes the shell's file
"""

import re
from pathlib import Path

from pyspark.sql import SparkSession

from tests.oracle.spark import SparkOracle

ROOT = Path(__file__).parents[2]
FILE = ROOT / "sqlfront" / "shell" / "interactive" / "completion" / "functions.txt"
#: Characters of help at most: one line.
LONGEST = 160


def line_of(name: str, usage: str) -> str:
    """The line of a function in the shell's file: name, signature and first sentence, with tabs between.

    >>> line_of("abs", "Usage: abs(expr) - Returns the absolute value. More.")
    'abs\\tabs(expr)\\tReturns the absolute value'
    """
    text = " ".join(re.sub(r"<[^>]+>", "", usage.removeprefix("Usage:")).split())
    signature, dash, rest = text.partition(" - ")
    if not dash:
        signature, rest = "", text
    sentence = re.split(r"\.(?=\s|$)", rest.replace("`", ""), maxsplit=1)[0].strip()
    if len(sentence) > LONGEST:
        sentence = sentence[: LONGEST - 1].rsplit(" ", 1)[0] + "…"
    return f"{name}\t{signature.replace('`', '')}\t{sentence}"


def lines(spark: SparkSession) -> list[str]:
    """The lines of all functions whose names are words, as Spark lists them."""
    names = [str(row[0]) for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()]
    return [
        line_of(name, usage_of(spark, name)) for name in sorted(names) if re.fullmatch(r"[a-z_]\w*", name)
    ]


def usage_of(spark: SparkSession, name: str) -> str:
    """Spark's description of how a function is used."""
    rows = [str(row[0]) for row in spark.sql(f"DESCRIBE FUNCTION `{name}`").collect()]
    return next(row for row in rows if row.startswith("Usage:"))


if __name__ == "__main__":
    with SparkOracle() as oracle:
        FILE.write_text("\n".join(lines(oracle.new_session())) + "\n", encoding="utf-8")
