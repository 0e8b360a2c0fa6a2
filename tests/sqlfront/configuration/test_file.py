"""sqlfront.toml: what it may say, where it is found, and the messages for everything else."""

import os
import random
from pathlib import Path

import pytest

from sqlfront.configuration import FileConfig, KeyBindings, load
from sqlfront.configuration.file import default_path
from sqlfront_values.errors import Error, OperationalError, ProgrammingError

WHOLE = """
[shell]
format = "csv"
pager = "less -R"
null = "∅"
prompt = "> "
keys = "vi"

[connections.flights]
url = "sqlfront:///data/flights?members=3"
timeout = 5

[connections."the other"]
members = 2
launcher = "local"
memory_limit = "4g"
query_memory_limit = 1048576
allow_user_code = true
collect_rows = 1e5
file_access = ["/data", "/tmp"]
"""


def written(folder: Path, text: str | bytes) -> Path:
    """The file with that content."""
    path = folder / "sqlfront.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(folder: Path, text: str | bytes) -> str:
    """The message of the ProgrammingError for the content; it names the file."""
    path = written(folder, text)
    with pytest.raises(ProgrammingError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_file_gives_the_shell_s_options_and_connections(tmp_path: Path) -> None:
    found = load(written(tmp_path, WHOLE))

    assert (found.shell.format, found.shell.pager, found.shell.null) == ("csv", "less -R", "∅")
    assert (found.shell.prompt, found.shell.keys) == ("> ", KeyBindings.VI)
    assert found.connections["flights"].url == "sqlfront:///data/flights?members=3"
    assert found.connections["flights"].options == {"timeout": 5}
    assert found.connections["the other"].options == {
        "members": 2,
        "launcher": "local",
        "memory_limit": 4 << 30,
        "query_memory_limit": 1 << 20,
        "allow_user_code": True,
        "collect_rows": 1e5,
        "file_access": ("/data", "/tmp"),
    }


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "")

    assert load(path) == FileConfig(path=path)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert load(written(tmp_path, b"\xef\xbb\xbf[shell]\nnull = ''")).shell.null == ""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[shel]", ["'shel'", "'shell'"]),
        ("pager = 'x'", ["'pager'", "shell, connections"]),
        ("[shell]\npagr = 'x'", ["[shell]", "'pagr'", "'pager'"]),
        ("[connections.a]\nmember = 3", ["[connections.a]", "'member'", "'members'"]),
        ("shell = 3", ["shell", "a section", "an integer"]),
        ("connections = []", ["connections", "a section", "a list"]),
        ("[connections]\na = 'sqlfront:'", ["connections.a", "a section", "a text"]),
        ("[shell]\npager = 3", ["shell.pager", "a text", "an integer"]),
        ("[shell]\nnull = 2026-11-27", ["shell.null", "a text", "a date or time"]),
        ("[shell]\nkeys = 'ed'", ["shell.keys", "emacs or vi", "'ed'"]),
        ("[connections.a]\nurl = 1.5", ["connections.a.url", "a text", "a float"]),
        ("[connections.a]\nurl = 'flights'", ["connections.a.url", "no URL"]),
        ("[connections.a]\nmembers = '3'", ["connections.a.members", "an integer", "'3'"]),
        ("[connections.a]\nmembers = true", ["connections.a.members", "an integer", "True"]),
        ("[connections.a]\ninsecure = 1", ["connections.a.insecure", "true or false", "1"]),
        ("[connections.a]\nlauncher = 'moon'", ["launcher", "embedded, local, spark", "'moon'"]),
        ("[connections.a]\nmemory_limit = '4x'", ["memory_limit", "512MiB", "'4x'"]),
        ("[connections.a]\nfile_access = ['/a', 3]", ["file_access", "folders"]),
        ("[connections.a]\nwarehouse = ''", ["warehouse", "a text", "''"]),
        ('[connections.a]\nwarehouse = "a\\u0000"', ["warehouse", "a text"]),
        ("[connections.a]\nurl = 'sqlfront:'\ncluster = 'sqlfront://'", ["a url and a cluster"]),
        ("[connections.'a:b']", ["no colon"]),
        ("[connections.'']", ["the name of a connection"]),
        ("[shell]\npager = x\n", ["line 2"]),
        (b"[shell]\n\nnull = '\xff'", ["line 3", "UTF-8"]),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str | bytes, parts: list[str]) -> None:
    message = refusal(tmp_path, text)

    assert [part for part in parts if part not in message] == []
    assert len(message) < 700


def test_a_file_of_no_sensible_size_is_refused(tmp_path: Path) -> None:
    assert "1 MiB" in refusal(tmp_path, "#" * ((1 << 20) + 1))
    assert "TOML" in refusal(tmp_path, "a = " + "1" * 5000)
    assert len(refusal(tmp_path, "a = " + "[" * 5000)) < 700


def test_a_wrong_secret_is_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path, "[connections.a]\nsecret = ['hunter2']")
    with pytest.raises(ProgrammingError) as caught:
        load(path)
    assert "hunter2" not in str(caught.value)


def test_the_repr_of_a_connection_has_no_values(tmp_path: Path) -> None:
    text = "[connections.a]\nurl = 'sqlfront://:hunter2@h:1'\nsecret = 'hunter2'"

    assert "hunter2" not in repr(load(written(tmp_path, text)))


def test_a_missing_file_is_an_error_only_if_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("SQLFRONT_CONFIG", raising=False)
    assert load() == FileConfig()
    with pytest.raises(OperationalError, match=r"no\.toml can't be read: No such file"):
        load(tmp_path / "no.toml")
    monkeypatch.setenv("SQLFRONT_CONFIG", str(tmp_path / "no.toml"))
    with pytest.raises(OperationalError, match=r"no\.toml can't be read: No such file"):
        load()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match="can't be read: Is a directory"):
        load(tmp_path)


def test_a_path_that_no_file_has_is_an_error() -> None:
    with pytest.raises(OperationalError, match="can't be read"):
        load("a\0b")


@pytest.mark.skipif(os.getuid() == 0, reason="root reads every file")
def test_a_file_of_others_can_not_be_read(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    path.chmod(0)
    with pytest.raises(OperationalError, match="can't be read: Permission denied"):
        load(path)


def test_the_file_is_found_by_variable_then_by_xdg_then_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg")
    monkeypatch.setenv("SQLFRONT_CONFIG", "/own.toml")
    assert default_path() == Path("/own.toml")
    monkeypatch.setenv("SQLFRONT_CONFIG", "")
    assert default_path() == Path("/xdg/sqlfront/sqlfront.toml")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert default_path() == Path("/home/ada/.config/sqlfront/sqlfront.toml")


def test_whatever_a_file_holds_it_loads_or_is_refused(tmp_path: Path) -> None:
    """Bytes of a good file left out, doubled, swapped and replaced."""
    chance = random.Random(27)
    pieces = [
        *WHOLE.encode().splitlines(keepends=True),
        b'"""',
        b"[[",
        b"\x00",
        b"\xff",
        b"= {",
        b"\r",
        b"1e999",
    ]
    messages = []
    for _ in range(400):
        lines = [chance.choice(pieces) for _ in range(chance.randint(1, 12))]
        content = bytearray(b"".join(lines))
        for _ in range(chance.randint(0, 3)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path = written(tmp_path, bytes(content))
        try:
            load(path)
        except Error as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert [message for message in messages if str(path) not in message] == []
