"""What Spark answers for casts: a table of values, and the answers as a file.

``answers.json`` holds, per ``"source > target"``, pairs of the value as text and the result cast to string
(null, or ``!CONDITION`` for an error). The values are made by casting the text to the source type. Refill it,
after changing the table, with ``python -m tests.values.casts.answers`` (needs Java).
"""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    YEAR_MONTH_INTERVAL,
    decimal,
)
from tests.oracle.answers import Failure

if TYPE_CHECKING:
    from tests.oracle.spark import SparkOracle

PATH = Path(__file__).parent / "answers.json"

TYPES: dict[str, pa.DataType] = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "decimal(4,3)": decimal(4, 3),
    "decimal(5,0)": decimal(5, 0),
    "decimal(10,2)": decimal(10, 2),
    "decimal(18,0)": decimal(18, 0),
    "decimal(19,0)": decimal(19, 0),
    "decimal(20,5)": decimal(20, 5),
    "decimal(38,18)": decimal(38, 18),
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
    "interval day to second": DAY_TIME_INTERVAL,
    "interval year to month": YEAR_MONTH_INTERVAL,
}

#: Texts that are cast to the source type first.
VALUES: dict[str, list[str]] = {
    "boolean": ["true", "false"],
    "tinyint": ["0", "-128", "127"],
    "smallint": ["127", "128", "-128", "-129", "32767", "-32768"],
    "int": ["0", "-1234", "32767", "32768", "-32769", "99999", "100000", "2147483647", "-2147483648"],
    "bigint": [
        "0",
        "2147483647",
        "2147483648",
        "-2147483649",
        "999999999999999999",
        "1000000000000000000",
        "9223372036854775807",
        "-9223372036854775808",
    ],
    "float": [
        "0.1",
        "-0.0",
        "1.1",
        "NaN",
        "Infinity",
        "-1.5",
        "127.9",
        "128.0",
        "3e9",
        "123456.789",
        "1e-45",
        "1e38",
    ],
    "double": [
        "0.1",
        "-0.0",
        "0.30000000000000004",
        "NaN",
        "-Infinity",
        "127.99",
        "-128.99",
        "-129.0",
        "2147483647.9",
        "2147483648.0",
        "9.223372036854775E18",
        "9.223372036854776E18",
        "-9.223372036854776E18",
        "1e19",
        "0.5",
        "1.5",
        "-2.5",
        "2.675",
        "1.0005",
        "9.9995",
        "1e-3",
        "9.999e-4",
        "9999999.0",
        "1e7",
        "1e20",
        "1e308",
        "5e-324",
        "123456789.987654321",
    ],
    "decimal(4,3)": ["0.0005", "-9.999", "1.500", "2.500", "0"],
    "decimal(10,2)": ["1.25", "-1.25", "99999999.99", "0", "127.99", "-128.99", "128.00", "0.01"],
    "decimal(20,5)": [
        "999999999999999.99999",
        "-0.00001",
        "2147483647.99999",
        "2147483648",
        "99999.49999",
        "99999.5",
    ],
    "decimal(38,18)": [
        "12345678901234567890.123456789012345678",
        "-0.000000000000000001",
        "9223372036854775807.999999999999999999",
        "9223372036854775808",
        "0.5",
        "2.5",
        "0.1",
    ],
    "string": [
        "",
        "1",
        " 12 ",
        "+5",
        "-0",
        "00012",
        "1.5",
        "-.5",
        "5.",
        "1e3",
        "1e-50",
        "1E100",
        "x",
        "128",
        "-129",
        "32768",
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "99999.5",
        "12345678901234567890.1234567890123456789",
        "NaN",
        "nan",
        "-inf",
        "Infinity",
        "1d",
        "0x1p3",
        "1e400",
        "1_0",
        "true",
        "T",
        " yes",
        "n",
        "on",
        "2020",
        "2020-2",
        "2020-02-29",
        "2021-02-29",
        "2020-1-2",
        " 2020-01-02 ",
        "2020-01-02 junk",
        "20200102",
        "0000-01-01",
        "-0044-03-15",
        "12345-06-07",
        "2020-01-02 03:04:05.678",
        "2020-01-02T3:4:5",
        "2020-01-02 03:04:05.1234567",
        "2020-01-02 03:04:05Z",
        "2020-01-02 03:04:05 +01:30",
        "2020-01-02 03:04:05 Europe/Paris",
        "2020-01-02 03:04:05 PST",
        "2020-01-02 24:00:00",
        "2020-01-02 03:04:60",
        "2020-01-02 03:04:",
        "1 02:03:04.5",
        "-1 2:3:4",
        "INTERVAL '1 02:03:04' DAY TO SECOND",
        "1-2",
        "-1-11",
        "1-12",
        "naïve 😀",
    ],
    "binary": ["AB", "", "é"],
    "date": ["2020-02-29", "1960-01-01", "0001-01-01", "-0044-03-15", "12345-06-07"],
    "timestamp": [
        "2020-02-29 12:34:56.789",
        "1969-12-31 23:59:59.5",
        "2020-01-01",
        "0001-01-01 00:00:00.000001",
        "9999-12-31 23:59:59.999999",
        "-0001-01-01 00:00:00",
        "12345-01-01 00:00:00.1",
    ],
    "timestamp_ntz": [
        "2020-02-29 12:34:56.789",
        "1969-12-31 23:59:59.5",
        "2020-01-01",
        "-0001-01-01 00:00:00",
    ],
    "interval day to second": [
        "1 02:03:04.5",
        "-1 00:00:00.000001",
        "0 00:00:00",
        "24855 03:14:07",
        "24855 03:14:08",
    ],
    "interval year to month": ["1-2", "-0-1", "0-0", "10-8"],
}


def statements() -> Iterator[tuple[str, str, str]]:
    """All casts: the pair's key, the text and the SELECT that asks Spark."""
    for source, texts in VALUES.items():
        for target in TYPES:
            for text in texts:
                literal = text.replace("'", "\\'")
                yield (
                    f"{source} > {target}",
                    text,
                    f"SELECT CAST(CAST(CAST('{literal}' AS {source}) AS {target}) AS STRING)",
                )


def fill(ask: Callable[[str], str | None]) -> None:
    """Write the file; ``ask`` gives the only value of a SELECT, or ``!CONDITION``. Pairs that Spark does not
    cast are left out."""
    answers: dict[str, list[tuple[str, str | None]]] = {}
    refused: set[str] = set()
    for key, text, sql in statements():
        if key in refused:
            continue
        answer = ask(sql)
        if answer is not None and answer.startswith("!DATATYPE_MISMATCH"):
            refused.add(key)
            continue
        answers.setdefault(key, []).append((text, answer))
    lines = (f"{json.dumps(key)}: {json.dumps(pairs, ensure_ascii=False)}" for key, pairs in answers.items())
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def asker(spark: "SparkOracle") -> Callable[[str], str | None]:
    """A function that asks a live Spark, as :func:`fill` wants it."""

    def ask(sql: str) -> str | None:
        answer = spark.answer(sql)
        if isinstance(answer, Failure):
            return f"!{answer.condition}"
        text = answer.rows[0][0]
        return None if text == "NULL" else str(ast.literal_eval(text))

    return ask


def main() -> None:
    """Fill the file from a Spark of its own."""
    from tests.oracle.spark import SparkOracle

    with SparkOracle() as spark:
        fill(asker(spark))


if __name__ == "__main__":
    main()
