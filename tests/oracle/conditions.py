"""Spark's error conditions and their SQLSTATEs, from the JSON file in Spark's own jar.

python -m tests.oracle.conditions     write sqlfront_values/spark_conditions.py anew
"""

import json
import textwrap
import zipfile
from pathlib import Path

import pyspark

STORED = Path(__file__).parents[2] / "engine" / "sqlfront_values" / "spark_conditions.py"
_HEAD = '''"""The SQLSTATEs of the error conditions of Spark {version}.

``python -m tests.oracle.conditions`` takes them from ``error-conditions.json`` in Spark's jar.
"""

from collections.abc import Iterator
from typing import Final

#: Each SQLSTATE with a colon, followed by the names of its conditions.
_TABLE: Final = """
'''
_TAIL = '''"""


def _pairs() -> Iterator[tuple[str, str]]:
    sqlstate = ""
    for word in _TABLE.split():
        if word.endswith(":"):
            sqlstate = word[:-1]
        else:
            yield word, sqlstate


#: The SQLSTATE of a condition.
SQLSTATES: Final = dict(_pairs())
'''


def conditions() -> dict[str, str]:
    """The SQLSTATE of each condition of the installed Spark that has one."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-common-utils_*.jar")
    with zipfile.ZipFile(jar) as archive:
        known = json.loads(archive.read("error/error-conditions.json"))
    return {name: about["sqlState"] for name, about in sorted(known.items()) if "sqlState" in about}


def module() -> str:
    """The text of the module with the table."""
    by_state: dict[str, list[str]] = {}
    for name, sqlstate in conditions().items():
        by_state.setdefault(sqlstate, []).append(name)
    lines = [
        line
        for sqlstate, names in sorted(by_state.items())
        for line in textwrap.wrap(f"{sqlstate}: {' '.join(names)}", 110, subsequent_indent=" ")
    ]
    return _HEAD.format(version=pyspark.__version__) + "\n".join(lines) + "\n" + _TAIL


if __name__ == "__main__":
    STORED.write_text(module())
