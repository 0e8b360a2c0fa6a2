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

    for name in ("SPARK_USER", "HADOOP_USER_NAME"):
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


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("variables", "user"),
    [
        ({"USER": "zed", "LOGNAME": "zed"}, pwd.getpwuid(os.getuid()).pw_name),
        ({"SPARK_USER": "sue"}, "sue"),
        ({"HADOOP_USER_NAME": "hal"}, "hal"),
        ({"SPARK_USER": "sue", "HADOOP_USER_NAME": "hal"}, "sue"),
    ],
)
def test_the_environment_names_the_user_as_in_spark(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], user: str
) -> None:
    """As PySpark 4.3 answered with these variables."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with sqlfront.Session() as session:
        assert session.execute("SELECT current_user()").collect() == [(user,)]
