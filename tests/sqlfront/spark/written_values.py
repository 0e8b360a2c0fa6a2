"""Odd values of each type, in a file that sqlfront and Spark read as rows to insert."""

from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

#: The types of the columns, by their names.
KINDS: Final = {
    "b": "BOOLEAN",
    "i1": "TINYINT",
    "i2": "SMALLINT",
    "i4": "INT",
    "i8": "BIGINT",
    "f4": "FLOAT",
    "f8": "DOUBLE",
    "d5": "DECIMAL(5,2)",
    "d30": "DECIMAL(30,10)",
    "s": "STRING",
    "x": "BINARY",
    "dt": "DATE",
    "ts": "TIMESTAMP",
    "tn": "TIMESTAMP_NTZ",
    "ar": "ARRAY<INT>",
    "mp": "MAP<STRING,BIGINT>",
    "st": "STRUCT<a:INT,B:STRING>",
    "da": "ARRAY<DECIMAL(5,2)>",
    "sa": "ARRAY<STRUCT<q:TIMESTAMP,w:ARRAY<STRING>>>",
}
#: The rows; the first two have values that many types hold.
_ROWS: Final = (
    """true, 1, 1, 1, 1, 1.5D, 1.5D, 1.25, 1.0000000001, '1', X'31', '2024-02-29',
    TIMESTAMP'2024-02-29 12:34:56.789012', TIMESTAMP_NTZ'2024-02-29 12:34:56.789012', array(1, null, 2),
    map('k', 1L, 'n', null), named_struct('a', 1, 'B', 'x'), array(1.25BD, null),
    array(named_struct('q', TIMESTAMP'2024-01-01 00:00:00', 'w', array('a', '', null)))""",
    ", ".join(["null"] * len(KINDS)),
    r"""false, -128, -32768, -2147483648, -9223372036854775808, double('NaN'), double('NaN'), -999.99,
    -12345678901234567890.0123456789, '', X'', '0001-01-01', TIMESTAMP'1500-01-01 00:00:00',
    TIMESTAMP_NTZ'0001-01-01 00:00:00', array(), map(), named_struct('a', null, 'B', null), array(),
    array()""",
    r"""true, 127, 32767, 2147483647, 9223372036854775807, double('-inf'), double('inf'), 999.99,
    12345678901234567890.0123456789, 'a,"b"\n\\ ü\t;|', X'00FF', '9999-12-31',
    TIMESTAMP'9999-12-31 10:00:00.000001', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', array(null),
    map('', 0L), named_struct('a', -1, 'B', ''), array(0BD), array(null)""",
    r"""false, 0, 0, 0, 0, -0.0D, -0.0D, 0, 0, ' lead trail ', X'61', '1970-01-01',
    TIMESTAMP'1970-01-01 00:00:00', TIMESTAMP_NTZ'1970-01-01 00:00:00', array(0), map('a b', -1L),
    named_struct('a', 0, 'B', ' x '), array(-0.01BD), array(named_struct('q', null, 'w', null))""",
    r"""false, 0, 0, 0, 0, 1e-45D, 4.9E-324D, 0, 0, 'null', X'61', '1582-10-10',
    TIMESTAMP'1883-01-01 00:00:00', TIMESTAMP_NTZ'2024-03-31 02:30:00', array(0), map('a b', -1L),
    named_struct('a', 0, 'B', 'null'), array(-0.01BD),
    array(named_struct('q', TIMESTAMP'2024-10-27 02:30:00', 'w', array()))""",
    r"""false, 0, 0, 0, 0, 16777216, 1.7976931348623157E308D, 0, 0, '\r\n', X'61', '1582-10-10',
    TIMESTAMP'1883-01-01 00:00:00.1', TIMESTAMP_NTZ'2024-03-31 02:30:00.12', array(0), map('a b', -1L),
    named_struct('a', 0, 'B', '\n'), array(-0.01BD), array(named_struct('q', null, 'w', array()))""",
)


def source(spark: SparkSession, folder: Path) -> str:
    """Write the rows, and return the relation that reads them, in the words of both: the columns of
    :data:`KINDS`."""
    path = folder / "values"
    rows = ", ".join(f"({row})" for row in _ROWS)
    columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in KINDS.items())
    names = ", ".join(KINDS)
    frame = spark.sql(f"SELECT {columns} FROM VALUES {rows} AS v({names})")
    frame.coalesce(1).write.parquet(str(path))
    return f"parquet.`{path}`"
