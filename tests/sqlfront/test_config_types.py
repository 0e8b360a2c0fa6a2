"""Values of wrong types in a Config are refused by name."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import sqlfront
from sqlfront.config import Config, Launcher

FIELDS = [field.name for field in msgspec.structs.fields(Config)]
ODD: list[Any] = ["1", "two", b"x", [], {}, {1}, 1.5, float("nan"), -1, 1 << 70, object(), True, Path("a\0b")]


@pytest.mark.parametrize("name", FIELDS)
def test_each_value_is_taken_or_refused_by_name(name: str) -> None:
    errors = [error for value in ODD if (error := error_of(name, value)) is not None]
    assert errors
    for error in errors:
        assert name.split("_", maxsplit=1)[0] in str(error) or "cluster" in str(error) or error.sqlstate, (
            error
        )


def error_of(name: str, value: object) -> sqlfront.Error | None:
    try:
        Config(**{name: value})  # type: ignore[arg-type]
    except sqlfront.Error as error:
        return error
    return None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("workers", "4", r"workers must be of the type int \| None, not str"),
        ("workers", True, r"workers must be of the type int \| None, not bool"),
        ("launcher", "local", "launcher must be of the type Launcher, not str"),
        ("allow_user_code", "no", r"allow_user_code must be of the type bool \| None, not str"),
        ("file_access", 5, r"file_access must be of the type str \| Sequence\[str\] \| None, not int"),
        ("silence_limit", float("nan"), "silence_limit must be positive, not nan"),
        ("backups", True, r"backups must be of the type int \| None, not bool"),
        ("backups", 1.0, r"backups must be of the type int \| None, not float"),
        ("backups", 3, "backups must be 0, 1 or 2, not 3"),
    ],
)
def test_the_message_names_the_field_and_the_type(name: str, value: Any, message: str) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match=message):
        Config(**{name: value})


def test_the_message_has_no_secret() -> None:
    with pytest.raises(sqlfront.ProgrammingError) as error:
        sqlfront.connect(cluster="local:x", secret=b"hush")  # type: ignore[arg-type]
    assert "hush" not in str(error.value)


def test_whole_numbers_and_path_objects_are_taken(tmp_path: Path) -> None:
    assert Config(timeout=5, launcher=Launcher.LOCAL, members=2).timeout == 5
    with sqlfront.connect(warehouse=tmp_path, file_access=[str(tmp_path)]) as connection:  # type: ignore[arg-type]
        connection.execute("CREATE TABLE t USING parquet AS SELECT 1 AS a")
        assert connection.execute("SELECT * FROM t").fetchall() == [(1,)]
