"""The stored schemas beside sqlfront's.

python -m tests.oracle.schemas.comparison            each difference, and the counts
python -m tests.oracle.schemas.comparison --write    the same, and `gaps.txt` is written anew
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import sqlfront
from tests.oracle.schemas import stored

#: The queries whose schemas differ still.
GAPS: Final = Path(__file__).parent / "gaps.txt"


def compare() -> tuple[dict[str, str], int]:
    """The queries whose schemas differ, each with both trees, and how many were compared: what sqlfront
    refuses isn't."""
    different, compared = {}, 0
    with sqlfront.connect() as connection:
        for sql, tree in stored.read():
            try:
                result = connection.session.sql(sql)
            except sqlfront.Error:
                continue
            compared += 1
            if (got := result.schema_tree()) != tree:
                different[sql] = f"Spark:\n{tree}sqlfront:\n{got}"
    return different, compared


def main(arguments: list[str] | None = None) -> None:
    """Print the differences."""
    parser = argparse.ArgumentParser(prog="tests.oracle.schemas.comparison")
    parser.add_argument("--write", action="store_true", help="write gaps.txt anew")
    options = parser.parse_args(arguments)
    different, compared = compare()
    for sql, trees in different.items():
        print(f"{sql}\n{trees}")
    print(f"{compared} schemas compared, {len(different)} differ")
    if options.write:
        GAPS.write_text("".join(f"{sql}\n" for sql in different if "\n" not in sql))


if __name__ == "__main__":
    main()
