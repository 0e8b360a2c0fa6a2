"""Ask Spark for the schemas of all queries, and store them: see the package."""

from __future__ import annotations

from tests.oracle.function_inventory import examples
from tests.oracle.function_texts import described
from tests.oracle.schemas import stored
from tests.oracle.spark import SparkOracle


def main() -> None:
    """Write the stored schemas anew."""
    with SparkOracle() as oracle:
        session = oracle.new_session()
        texts = described(session)
        documented = [sql for text in texts for sql in examples(text.extended) if "\n\n" not in sql]
        pairs = []
        for sql in dict.fromkeys([*stored.queries(), *documented]):
            try:
                tree = session.sql(sql).schema.treeString()
            except Exception as error:  # noqa: BLE001 - an example that shows an error
                print(sql, str(error)[:100])
                continue
            pairs.append((sql, tree))
    stored.write(pairs)
    print(f"{len(pairs)} schemas")


if __name__ == "__main__":
    main()
