"""The magics in a real kernel, driven by nbclient as `jupyter execute` does."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.doors

CELLS = (
    "%load_ext sqlfront",
    "%sql SELECT 1 AS x, NULL AS n, '<b>' AS y",
    "%%sql rows <<\nSELECT id FROM range(50)",
    "rows",
    "least = 48",
    "%sql SELECT * FROM {rows} WHERE id >= :least",
    "%%sql\nSELECT count(*) AS n FROM range(30000) a CROSS JOIN range(30000) b WHERE a.id * b.id < 0",
)
ENDLESS = (
    "SELECT count(*) FROM range(100000) a CROSS JOIN range(100000) b CROSS JOIN range(1000) c"
    " WHERE a.id + b.id = -c.id"
)
BROKEN = "%%sql\nSELECT nothing\nFROM range(1)"


def test_a_notebook_runs_in_a_kernel() -> None:
    import nbclient
    import nbformat

    new: Any = nbformat.v4
    notebook = new.new_notebook(cells=[new.new_code_cell(text) for text in (*CELLS, BROKEN)])
    notebook.cells[-1].metadata["tags"] = ["raises-exception"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(env=environment)

    def data_of(place: int) -> dict[str, str]:
        return dict(notebook.cells[place].outputs[-1]["data"])

    page = data_of(1)["text/html"]
    assert "&lt;b&gt;" in page and "NULL</span>" in page
    assert "|x  |" in data_of(1)["text/plain"]
    assert notebook.cells[2].outputs == []
    assert "the first 20 rows" in data_of(3)["text/html"]
    assert data_of(5)["text/html"].count("<tr>") == 3
    progress, result = notebook.cells[6].outputs
    assert progress["data"]["text/plain"] == ""
    assert ">0</td>" in result["data"]["text/html"]
    (error,) = notebook.cells[7].outputs
    assert error["output_type"] == "error"
    assert error["ename"] == "ProgrammingError"
    assert error["traceback"][1:] == ["LINE 1: SELECT nothing", "               ^^^^^^^"]


def test_an_interrupt_of_the_kernel_cancels_the_statement() -> None:
    """As the button of a notebook does: the cell ends with the error, and the next cell runs."""
    from jupyter_client.manager import start_new_kernel

    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    manager, client = start_new_kernel(kernel_name="python3", env=environment, startup_timeout=120)
    seen: list[dict[str, Any]] = []

    def heard(message: dict[str, Any]) -> None:
        seen.append(message["content"])
        shown = message["content"].get("data", {}).get("text/plain", "")
        if message["msg_type"] == "display_data" and "running" in shown:
            manager.interrupt_kernel()

    try:
        client.execute_interactive("%load_ext sqlfront", timeout=120)
        text = f"%sql {ENDLESS}"
        reply = client.execute_interactive(text, timeout=120, output_hook=heard, allow_stdin=False)
        assert reply["content"]["status"] == "error"
        assert reply["content"]["ename"] == "OperationalError"
        assert "HY008" in reply["content"]["evalue"]
        reply = client.execute_interactive("_ = %sql SELECT 1", timeout=120)
        assert reply["content"]["status"] == "ok"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
