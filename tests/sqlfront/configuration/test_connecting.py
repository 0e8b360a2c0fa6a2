"""connect(): URLs, names, the environment, and the order in which they count."""

import inspect
import os
import random
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import asdict, fields

import sqlfront
from sqlfront import Config, api
from sqlfront.api import connect
from sqlfront.config import Launcher
from sqlfront.configuration.connecting import resolve
from sqlfront.configuration.options import OPTIONS, OptionKind
from sqlfront_values.errors import Error, OperationalError, ProgrammingError

PARTS = (
    "sqlfront:", "//", "/", "?", "&", "=", "%", "%41", "%00", "%ff", "\udcff", "é", "漢", "[", "]", "::1",
    ":4711", "db", "@", "#", " ", "\n", "\0", "9" * 30, "1e5", "true", "-1", "/tmp", "/dev/null", "~", "..",
    "unix:", ";",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SQLFRONT_")]:
        monkeypatch.delenv(name)


def config(target: str | None = None, environment: dict[str, str] | None = None, **given: object) -> Config:
    """The configuration of connect(target, ...) in such an environment."""
    return resolve(target, given, environment=environment or {}).config


def refused(target: str | None, environment: dict[str, str] | None = None, **given: object) -> str:
    """The message of the error that connect(target, ...) raises."""
    with pytest.raises((ProgrammingError, OperationalError)) as caught:
        resolve(target, given, environment=environment or {})
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration file with some connections."""
    path = tmp_path / "sqlfront.toml"
    path.write_text(
        "[connections.here]\nurl = 'sqlfront:?members=2'\ntimeout = 3\n"
        "[connections.there]\ncluster = 'sqlfront://db:4711'\nsecret = 's'\nworkers = 2\n"
        "[connections.twice]\nurl = 'sqlfront:?members=2'\nmembers = 3\n"
    )
    monkeypatch.setenv("SQLFRONT_CONFIG", str(path))
    return path


# ---- the table


def test_every_option_is_a_field_of_the_configuration_or_spark() -> None:
    names = [option.name for option in OPTIONS]

    assert set(names) - {field.name for field in fields(Config)} == {"spark"}
    assert {field.name for field in fields(Config)} - set(names) == {"resource_profile"}
    assert len(names) == len(set(names))


def test_connect_takes_every_field_as_a_keyword() -> None:
    known = set(inspect.signature(connect).parameters)

    assert {field.name for field in fields(Config)} <= known


def test_the_launchers_of_the_table_are_the_launchers() -> None:
    [option] = [option for option in OPTIONS if option.kind is OptionKind.CHOICE]

    assert set(option.choices) == {launcher.value for launcher in Launcher}


def test_every_option_goes_through_url_and_environment_to_its_field() -> None:
    texts = {
        OptionKind.INTEGER: "7",
        OptionKind.NUMBER: "7.5",
        OptionKind.SIZE: "7g",
        OptionKind.BOOLEAN: "true",
        OptionKind.CHOICE: "local",
        OptionKind.FOLDERS: "/a",
        OptionKind.NAMES: "a.b, c",
        OptionKind.PAIRS: "parallelism=4, lease = 10 min",
        OptionKind.TEXT: "x",
    }
    own = {"time_zone": "Asia/Tokyo", "backups": "2"}
    values = [7, 7.5, 7 << 30, True, Launcher.LOCAL, ("/a",), ("a.b", "c"), "x", "Asia/Tokyo", 2]
    values.append({"parallelism": "4", "lease": "10 min"})
    for option in OPTIONS:
        text = own.get(option.name, texts[option.kind])
        place = "sqlfront://h:1" if option.scope.name == "CLUSTER" else "sqlfront:"
        pems = "&".join(f"{each}=x" for each in ("certificate", "key", "authority") if each != option.name)
        beside = f"&{pems}" if option.name in ("certificate", "key", "authority") else ""
        if option.in_url:
            found = resolve(f"{place}?{option.name}={text}{beside}", {}, environment={})
            value = found.spark if option.name == "spark" else getattr(found.config, option.name)
            assert value in values, option.name
        if option.scope.name == "ANY" and option.name != "spark":
            assert getattr(config(None, {option.variable: text}), option.name) in values, option.name


# ---- URLs


def test_a_url_of_a_session_of_its_own(tmp_path: Path) -> None:
    assert config("sqlfront:") == Config()
    assert config("sqlfront:?members=3&timeout=0.5") == Config(members=3, timeout=0.5)
    assert config("sqlfront:data%20x") == Config(warehouse="data x")
    folder = tmp_path / "a b?c"
    folder.mkdir()
    assert config(f"sqlfront://{str(folder).replace(' ', '%20').replace('?', '%3F')}?members=2") == Config(
        warehouse=str(folder), members=2
    )


def test_a_url_of_a_cluster() -> None:
    assert config("sqlfront://db:4711") == Config(cluster="sqlfront://db:4711")
    assert config("sqlfront+cluster://db:4711/?timeout=5") == Config(cluster="sqlfront://db:4711", timeout=5)
    assert config("sqlfront://[::1]:4711").cluster == "sqlfront://[::1]:4711"
    assert config("sqlfront://").cluster == "sqlfront://"
    assert config("sqlfront+cluster:///run/k%3F").cluster == "sqlfront:///run/k%3F"
    assert config("sqlfront://:a%2Fb%40@db:4711").secret == "a/b@"
    assert config("sqlfront://db:4711?secret=a%26b+c").secret == "a&b c"
    assert config("sqlfront://db:4711?insecure").insecure is True


def test_a_socket_at_a_path_is_a_cluster() -> None:
    with tempfile.TemporaryDirectory(prefix="s") as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/k")
        assert config(f"sqlfront://{folder}/k").cluster == f"sqlfront://{folder}/k"


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("http://x", "use sqlfront:"),
        ("sqlfront+cluster:db:1", "sqlfront+cluster://host:port"),
        ("sqlfront:?member=3", "'member' is not an option; did you mean 'members'?"),
        ("sqlfront:?cluster=x", "'cluster' is not an option"),
        ("sqlfront:?members=3&members=4", "'members' is given twice"),
        ("sqlfront:?members=", "the option members of the URL must be an integer, not ''"),
        ("sqlfront:?members=1_0", "must be an integer, not '1_0'"),
        ("sqlfront:?members=٣", "must be an integer"),
        ("sqlfront:?members=0", "members must be at least 1"),
        ("sqlfront:?backups=3", "backups must be 0, 1 or 2, not 3"),
        ("sqlfront:?backups=-1", "backups must be 0, 1 or 2, not -1"),
        ("sqlfront:?backups=one", "the option backups of the URL must be an integer, not 'one'"),
        ("sqlfront:?members=" + "9" * 5000, "must be an integer"),
        ("sqlfront:?timeout=inf", "must be a number"),
        ("sqlfront:?timeout=1e308&timeout=2", "given twice"),
        ("sqlfront:?timeout=0", "timeout must be a positive number"),
        ("sqlfront:?insecure=perhaps", "true or false, not 'perhaps'"),
        ("sqlfront:?launcher=moon", "one of embedded, local, spark"),
        ("sqlfront:?warehouse=", "must be a text, not ''"),
        ("sqlfront:?file_access=", "all, none, or folders"),
        ("sqlfront:?time_zone=Nowhere", "Nowhere"),
        ("sqlfront:?warehouse=%zz", "percent sign"),
        ("sqlfront:a%00b", "percent sign"),
        ("sqlfront:x?warehouse=y", "warehouse is given twice"),
        ("sqlfront:#x", "write # as %23"),
        ("sqlfront:?", ""),
        ("sqlfront://db", "host:port"),
        ("sqlfront://db:99999", "host:port"),
        ("sqlfront://::1:4711", "host:port"),
        ("sqlfront://unix:4711/x", "socket is written sqlfront+cluster:///path"),
        ("sqlfront:db:4711", "a cluster is written sqlfront://host:port"),
        ("sqlfront://ada@db:4711", "no users"),
        ("sqlfront://ada:s@db:4711", "no users"),
        ("sqlfront://:s@db:4711?secret=t", "secret is given twice"),
        ("sqlfront:?secret=s", "a secret needs a cluster"),
        ("sqlfront://db:1?secret=a&b", "write & in a secret as %26"),
        ("sqlfront:///nowhere/at/all", "neither a folder nor a cluster's socket"),
        ("sqlfront:///etc/passwd", "a file, not a folder"),
        ("sqlfront://db:1?members=3", "no members of its own"),
    ],
)
def test_a_wrong_url_is_refused(url: str, part: str) -> None:
    if part:
        assert part in refused(url)
        assert len(refused(url)) < 600
    else:
        assert config(url) == Config()


def test_whatever_a_url_is_it_is_taken_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of URLs in any order, with bytes and characters that no URL has."""
    monkeypatch.setenv("SQLFRONT_CONFIG", os.devnull)
    chance = random.Random(7)
    beginnings = ("sqlfront:", "sqlfront://", "sqlfront:?", "sqlfront://db:1?", "", "sqlfront:///tmp?")
    parts = [*PARTS, "a" * 5000, "/" + "x" * 5000, *(option.name for option in OPTIONS)]
    taken = 0
    for _ in range(700):
        url = chance.choice(beginnings) + "".join(chance.choices(parts, k=chance.randint(0, 6)))
        try:
            resolve(url, {}, environment={})
            taken += 1
        except Error as error:
            message = str(error)
            assert len(message) < 1000
    assert 25 < taken < 600


def test_whatever_a_variable_holds_it_is_taken_or_refused() -> None:
    for option in OPTIONS:
        for text in PARTS:
            with suppress(Error):
                resolve(None, {}, environment={option.variable: text})


# ---- names


def test_a_name_is_a_connection_of_the_file(file: Path) -> None:
    assert config("here") == Config(members=2, timeout=3)
    assert config("there") == Config(cluster="sqlfront://db:4711", secret="s", workers=2)


def test_an_unknown_name_is_refused_with_the_nearest(file: Path) -> None:
    message = refused("hare")

    assert "'hare'" in message
    assert "did you mean 'here'" in message
    assert str(file) in message


def test_a_name_without_a_file_says_where_the_file_would_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert str(tmp_path / "sqlfront" / "sqlfront.toml") in refused("here")


def test_an_option_in_url_and_section_is_refused(file: Path) -> None:
    assert "gives members twice" in refused("twice")


# ---- the order of the sources


def test_arguments_then_url_then_environment_then_file(file: Path) -> None:
    variables = {"SQLFRONT_TIMEOUT": "4"}
    assert config("here", {}).timeout == 3
    assert config("here", variables).timeout == 4
    assert config("sqlfront:?timeout=5", variables).timeout == 5
    assert config("sqlfront:?timeout=5", variables, timeout=6.0).timeout == 6
    assert config(None, variables).timeout == 4
    assert config(None, {"SQLFRONT_TIMEOUT": ""}).timeout is None


def test_the_environment_gives_the_place_only_if_nothing_else_does(file: Path) -> None:
    elsewhere = {"SQLFRONT_CLUSTER": "sqlfront://else:1", "SQLFRONT_MEMBERS": "3", "SQLFRONT_KEY": "k"}
    assert config(None, {"SQLFRONT_CLUSTER": "sqlfront://:s@else:1"}) == Config(
        cluster="sqlfront://else:1", secret="s"
    )
    assert config(None, {"SQLFRONT_MEMBERS": "3", "SQLFRONT_KEY": "k"}) == Config(members=3)
    assert config("sqlfront:", elsewhere) == Config()
    assert config("there", elsewhere).cluster == "sqlfront://db:4711"
    assert config(None, elsewhere, launcher=Launcher.LOCAL).members is None
    assert config("sqlfront://db:1", {"SQLFRONT_INSECURE": "1"}).insecure is True
    assert config("sqlfront://db:1?secret=s", {"SQLFRONT_INSECURE": "1"}).insecure is False


def test_a_variable_names_the_connection(file: Path) -> None:
    assert config(None, {"SQLFRONT_CONNECTION": "here"}).members == 2
    assert config("sqlfront:", {"SQLFRONT_CONNECTION": "here"}).members is None
    assert config(None, {"SQLFRONT_CONNECTION": "here"}, members=3).timeout is None


def test_a_wrong_variable_is_named() -> None:
    assert refused(None, {"SQLFRONT_MEMBERS": "x"}).startswith("SQLFRONT_MEMBERS must be an integer, not 'x'")


def test_a_given_configuration_is_complete() -> None:
    found = resolve("sqlfront:?timeout=5", {}, Config(workers=2), environment={"SQLFRONT_MEMBERS": "3"})

    assert found.config == Config(workers=2, timeout=5)


def test_connect_reads_all_sources(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLFRONT_WORKERS", "1")
    with sqlfront.connect("here", collect_rows=5) as connection:
        found = asdict(connection.session.config)
        assert connection.execute("SELECT count(*) FROM sys.members").fetchall() == [(2,)]
    assert (found["workers"], found["timeout"], found["collect_rows"]) == (1, 3, 5)


def test_url_and_cluster_are_not_both_given() -> None:
    with pytest.raises(ProgrammingError, match="both given"):
        connect("sqlfront:", cluster="sqlfront://db:1")


def test_the_default_session_of_sql_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "_default", [])
    monkeypatch.setenv("SQLFRONT_TIME_ZONE", "Asia/Tokyo")
    with api.default_session():
        assert sqlfront.sql("SELECT current_timezone()").collect()[0][0] == "Asia/Tokyo"
