"""The connection of the `sqlfront` command: an argument, and the options beside it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqlfront import Config, Error
from sqlfront.config import Launcher
from sqlfront.shell.main import _parser
from sqlfront.shell.session_arguments import session_of


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SQLFRONT_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "sqlfront.toml"
    path.write_text(
        "[connections.here]\nurl = 'sqlfront:?workers=1&timeout=3'\n[connections.check]\nworkers = 2\n"
    )
    monkeypatch.setenv("SQLFRONT_CONFIG", str(path))


def config(*arguments: str) -> Config:
    """The configuration of the session that the command opens with the arguments."""
    with session_of(_parser().parse_args(arguments)) as session:
        return session.config


def test_a_name_or_a_url_is_the_connection() -> None:
    assert config("here") == Config(workers=1, timeout=3)
    assert config("sqlfront:?workers=2", "-c", "SELECT 1") == Config(workers=2)
    assert config("--connection", "check") == Config(workers=2)
    assert config() == Config()


def test_options_count_before_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLFRONT_TIME_ZONE", "Asia/Tokyo")
    assert config("here", "--timeout", "4", "--launcher", "embedded") == Config(
        workers=1, timeout=4, time_zone="Asia/Tokyo", launcher=Launcher.EMBEDDED
    )
    assert config("--time-zone", "UTC").time_zone == "UTC"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("hare",), "did you mean 'here'"),
        (("here", "--connection", "check"), "given twice"),
        (("here", "--cluster", "sqlfront://"), "both given"),
        (("sqlfront:?workers=x",), "workers of the URL must be an integer"),
    ],
)
def test_a_wrong_connection_is_refused(arguments: tuple[str, ...], part: str) -> None:
    with pytest.raises(Error) as caught:
        config(*arguments)
    assert part in str(caught.value)


def test_the_command_shows_no_secret() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "sqlfront", "sqlfront://ada:hunter2@db:1", "-c", "SELECT 1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 3
    assert "hunter2" not in ran.stderr
    assert "sqlfront://***@db:1" in ran.stderr
