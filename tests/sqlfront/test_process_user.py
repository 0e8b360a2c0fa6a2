"""The user of this process."""

import os
import pwd
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront.config import Config
from sqlfront_engine.process_user import process_user


@pytest.fixture
def fresh() -> Iterator[None]:
    """The user is asked of the system again."""
    process_user.cache_clear()
    yield
    process_user.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_a_user_without_a_name_is_a_number_wherever_sql_shows_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {number}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    number = str(os.getuid())

    with sqlfront.Session(Config(query_history=5)) as session:
        session.execute("create table t (a int) using memory")
        shown = [
            session.execute(text).collect()[0][0]
            for text in (
                "select current_user()",
                "select table_owner from information_schema.tables where table_name = 't'",
                "select schema_owner from information_schema.schemata where schema_name = 'default'",
                "select user from sys.queries limit 1",
            )
        ]
        described = session.execute("describe schema default").collect()

    assert shown == [number] * 4
    assert ("Owner", number) in described
