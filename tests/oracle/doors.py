"""Doors, each opened here, in DuckDB and in PostgreSQL: ``python -m tests.oracle.doors``.

Prints tables in Markdown (``docs/doors.md``); each cell is what somebody gets who really does it, a dash
stands for what there is no door for. PostgreSQL is left out where it isn't installed. ``--only WORD`` runs
the doors whose titles have the word.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import duckdb

from tests.oracle import cluster_doors, driver_doors, neighbour_doors
from tests.oracle.postgres import postgres

TABLES = {
    "The driver": driver_doors.DOORS,
    "A cluster": cluster_doors.DOORS,
    "The disk, and hard days": neighbour_doors.DOORS,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory(prefix="doors") as root:
        Path(root).chmod(0o755)  # PostgreSQL's user has to come through
        with postgres(Path(root) / "postgres") as server:
            version = server.version if server else "isn't installed"
            print("# Doors: what sqlfront lets in, and what others do\n")
            print(
                "Made by `python -m tests.oracle.doors`: each cell is what somebody gets who really does\n"
                f"it, or how the error begins. DuckDB {duckdb.__version__} and PostgreSQL {version}, with\n"
                "their defaults; a dash: there is no such door."
            )
            for number, (title, doors) in enumerate(TABLES.items()):
                print(f"\n## {title}\n\n| door | sqlfront | DuckDB | PostgreSQL |\n|---|---|---|---|")
                for place, door in enumerate(doors):
                    if only in door.title:
                        cells = door.cells(Path(root) / f"{number}.{place}", server)
                        told = [cell.replace("|", "\\|").replace(root, "...") for cell in cells]
                        print(f"| {' | '.join([door.title, *told])} |", flush=True)


if __name__ == "__main__":
    main()
