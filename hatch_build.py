"""What a build makes: the parse tables of the grammar of statements, for a wheel and an editable install."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FOLDER = "planner/sqlfront_planner/statements"


class ParseTables(BuildHookInterface):  # type: ignore[type-arg]
    """Saves the parse tables beside the grammar, and takes the file along in a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before the build: write the file."""
        folder = Path(self.root, _FOLDER)
        parser = runpy.run_path(str(folder / "grammar_parser.py"))
        tables = folder / parser["TABLES_FILE"]
        with tables.open("wb") as target:
            parser["save_parser"]((folder / parser["GRAMMAR_FILE"]).read_text(encoding="utf-8"), target)
        build_data["artifacts"].append(f"{_FOLDER}/{tables.name}")
