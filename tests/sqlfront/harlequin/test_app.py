"""Harlequin itself over the adapter: its screen driven by Textual's pilot, and its command `hsql`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.doors

DEADLINE = 60.0
SLOW = (
    "SELECT count(*) FROM range(100000) a CROSS JOIN range(100000) b CROSS JOIN range(9) c"
    " WHERE a.id < -b.id - c.id"
)

Steps = Callable[["Screen"], Coroutine[Any, Any, None]]


class Screen:
    """A running Harlequin."""

    def __init__(self, app: Any, pilot: Any) -> None:
        self.app, self.pilot = app, pilot

    async def until(self, condition: Callable[[], object]) -> None:
        """Let Harlequin work until the condition holds."""
        deadline = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < deadline, "Harlequin did not get there"
            await self.pilot.pause(0.05)

    async def run(self, text: str) -> None:
        """Put the text into the editor, and run all of it."""
        self.app.editor.text = text
        self.app.editor.text_input.focus()
        await self.pilot.press("ctrl+a", "ctrl+j")

    async def rows(self, text: str) -> int:
        """Run the text, and return the number of rows that the table shows."""
        viewer = self.app.results_viewer
        before = viewer.get_visible_table()
        await self.run(text)
        await self.until(lambda: viewer.get_visible_table() not in (before, None))
        table = viewer.get_visible_table()
        # Harlequin focuses a new table by messages, and fails if the table is gone when the messages arrive.
        await self.until(lambda: table.has_focus and self.is_idle())
        return int(table.row_count)

    def is_idle(self) -> bool:
        """Whether no message waits for Harlequin or one of its widgets."""
        pumps = (self.app, *self.app.screen.walk_children(with_self=True))
        return not any(pump.message_queue_size for pump in pumps)

    async def error(self, text: str) -> str:
        """Run the text, and return what the window with the error says; close the window."""
        await self.run(text)
        await self.until(lambda: len(self.app.screen_stack) > 1)
        await self.pilot.pause(0.2)
        shown = " ".join(str(widget.render()) for widget in self.app.screen.query("Static"))
        await self.pilot.press("space")
        await self.until(lambda: len(self.app.screen_stack) == 1)
        return shown


def drive(steps: Steps) -> None:
    """Run Harlequin without a terminal, and take the steps."""
    from harlequin import Harlequin

    from sqlfront.harlequin import SqlfrontAdapter

    async def main() -> None:
        app = Harlequin(SqlfrontAdapter((), workers=2), connection_hash="sqlfront-test", record_history=False)
        async with app.run_test(size=(140, 40)) as pilot:
            screen = Screen(app, pilot)
            await screen.until(lambda: app.editor is not None and app.connection is not None)
            await steps(screen)
            app.connection.close()

    asyncio.run(main())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of Harlequin's own."""
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))


def test_statements_errors_and_markup() -> None:
    async def steps(screen: Screen) -> None:
        assert await screen.rows("SELECT id, '[red]<b>' AS `[/]` FROM range(250)") == 250
        assert (
            await screen.rows("SELECT 1 AS a, 2 AS a, array(1) AS b, NULL AS c, INTERVAL '1' DAY AS d") == 1
        )
        shown = await screen.error("SELECT id,\n  wrong FROM range(1)")
        assert "UNRESOLVED_COLUMN" in shown
        assert "LINE 2" in shown and "^^^^^" in shown
        assert await screen.rows("CREATE TABLE t (k INT) USING memory; SELECT * FROM VALUES (1), (2)") == 2

    drive(steps)


def test_the_cancel_key_stops_the_query() -> None:
    async def steps(screen: Screen) -> None:
        jobs = screen.app.connection._connection.session.engine.jobs
        await screen.run(SLOW)
        await screen.until(jobs)
        screen.app.action_cancel_query()
        await screen.until(lambda: not jobs())
        assert await screen.rows("SELECT 1 AS x") == 1

    drive(steps)


def test_the_tree_opens_level_by_level() -> None:
    async def steps(screen: Screen) -> None:
        screen.app.connection.execute("CREATE TABLE planes (tail STRING) USING memory")
        screen.app.update_schema_data()
        tree = screen.app.data_catalog.database_tree

        def node_of(path: tuple[str, ...]) -> Any:
            """The node of the path; None if it isn't there yet. Harlequin may make the nodes anew."""
            node = tree.root
            for label in path:
                node.expand()
                found = [each for each in node.children if str(each.label).startswith(label)]
                if not found:
                    return None
                node = found[0]
            return node

        path = ("spark_catalog", "default", "planes", "tail")
        await screen.until(lambda: node_of(path))
        assert str(node_of(path).label) == "tail s"

    drive(steps)


def hsql(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("hsql")
    command = [str(program), "-a", "sqlfront", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def test_the_command_without_a_screen() -> None:
    done = hsql("--csv", "-c", "SELECT 1 AS x, 'a' AS y")
    assert (done.returncode, done.stdout.split()) == (0, ["x,y", "1,a"])
    done = hsql("-c", "SELECT wrong")
    assert done.returncode == 1
    assert "^^^^^" in done.stderr
