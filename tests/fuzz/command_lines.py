"""Random command lines against the real command.

    python -m tests.fuzz.command_lines --minutes 10

Formats, outputs, variables, bad values, scripts in files and pipes, readers that go away and signals, mixed
at random. Every run ends with a documented exit code, without a traceback, and leaves no half file and no
temporary file.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from sqlfront.shell.exit_codes import ExitCode
from sqlfront.shell.output.formats import FORMATS

STATEMENTS: Final = (
    "select 1 as a",
    "select * from range(5)",
    "select id, uuid() as u from range(20000)",
    "select null as n, '' as e, 'a,\"b\"' as q, X'00ff' as b, map(1, array(2, null)) as m",
    "select interval 2 month as i",
    "select :x as x",
    "select ${x} as x",
    "create or replace temp view v as select 1 as a",
    "select nope",
    "selekt 1",
    "select 1 / 0",
    "select ';' as `;`",
    "",
    "/* open",
)
VARIABLES: Final = (
    "x=1",
    "x='a'",
    "x=DATE'2024-02-29'",
    "x=DATE'2024-13-01'",
    "x=",
    "x",
    "1x=2",
    "x=a b; select 2",
)
NULLS: Final = ("", "NULL", "-", "\t", "é", '"')
#: Names of the output within the folder, or elsewhere.
OUTPUTS: Final = (
    "out",
    "there",
    "no/such/out",
    ".",
    "é",
    "link",
    "/dev/null",
    "/dev/full",
    "/dev/stdout",
    "",
)
ENCODINGS: Final = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1")
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: What is in the folder before a run, and its content.
_BEFORE: Final = {"there": "before", "real": "before"}


class CommandLine(msgspec.Struct, frozen=True):
    """A run: the arguments, the bytes of standard input, the bytes that are read of standard output (None:
    all), and the signal that is sent after the first byte of output (None: none)."""

    arguments: tuple[str, ...]
    stdin: bytes = b""
    reads: int | None = None
    signal: int | None = None


def random_line(chance: random.Random, folder: Path) -> CommandLine:
    """A command line whose files are in the folder."""
    arguments: list[str] = []
    if chance.random() < 0.8:
        arguments += ["--format", chance.choice([*FORMATS, "xml"] if chance.random() < 0.1 else FORMATS)]
    if chance.random() < 0.5:
        output = chance.choice(OUTPUTS)
        arguments += [
            chance.choice(("-o", "--output")),
            output if output[:1] == "/" else str(folder / output),
        ]
    for name in chance.choices(VARIABLES, k=chance.choice((0, 0, 1, 2))):
        arguments += ["-v", name]
    if chance.random() < 0.2:
        arguments += ["--null", chance.choice(NULLS)]
    if chance.random() < 0.3:
        arguments.append("--quiet")
    if chance.random() < 0.1:
        arguments += chance.choice(
            (["--timeout", "0.001"], ["--timeout", "-1"], ["--time-zone", "Mars/Olympus"])
        )
    script = ";\n".join(chance.choices(STATEMENTS, k=chance.choice((1, 1, 2, 4)))) + " -- é"
    data = script.encode(chance.choice(ENCODINGS))
    match chance.choice(("command", "command", "file", "pipe", "missing")):
        case "command":
            arguments += ["-c", script]
        case "file":
            (folder / "script.sql").write_bytes(data)
            arguments += ["-f", str(folder / "script.sql")]
        case "missing":
            arguments += ["-f", str(folder / "missing.sql")]
        case _:
            return _ending(chance, arguments, data)
    return _ending(chance, arguments, b"")


def _ending(chance: random.Random, arguments: list[str], data: bytes) -> CommandLine:
    reads = chance.choice((None, None, None, 0, 1, 100))
    number = chance.choice(_SIGNALS) if reads == 1 and chance.random() < 0.5 else None
    return CommandLine(tuple(arguments), data, reads, number)


def run(line: CommandLine, folder: Path) -> str | None:
    """Run the command line; return what is wrong with its end, None if nothing is."""
    for name, content in _BEFORE.items():
        (folder / name).write_text(content)
    (folder / "link").symlink_to(folder / "real")
    command = [sys.executable, "-m", "sqlfront", *line.arguments]
    with (
        (folder / "messages").open("wb") as messages,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line.stdin)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdout.read(-1 if line.reads is None else line.reads)
        if line.signal is not None:
            process.send_signal(line.signal)
        process.stdout.close()
        code = process.wait(timeout=120)
    return _wrong(line, folder, code)


def _wrong(line: CommandLine, folder: Path, code: int) -> str | None:
    messages = (folder / "messages").read_text(encoding="utf-8", errors="replace")
    signalled = line.signal is not None and code == -line.signal
    if code not in [int(known) for known in ExitCode] and not signalled:
        return f"exit code {code}: {messages}"
    if "Traceback" in messages or "Exception ignored" in messages:
        return messages
    if code not in (ExitCode.OK, ExitCode.INTERRUPTED) and not messages and not signalled:
        return f"exit code {code} without a message"
    left = {path.name for path in folder.iterdir()} - {*_BEFORE, "link", "messages", "script.sql"}
    if left - ({"out", "é"} if code == ExitCode.OK else set()):
        return f"files are left after exit code {code}: {left}"
    changed = [name for name, content in _BEFORE.items() if (folder / name).read_text() != content]
    return f"{changed} changed by a run that failed" if changed and code != ExitCode.OK else None


def check(seed: int) -> None:
    """Run the command line of a seed. AssertionError if its end is wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line = random_line(random.Random(seed), folder)
        wrong = run(line, folder)
    assert wrong is None, f"seed {seed}: {line}\n{wrong}"


def main() -> None:
    """Run command lines for some minutes; print the number of runs, or the first that is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    options = parser.parse_args()
    seed, end = options.seed, time.monotonic() + 60 * options.minutes
    while time.monotonic() < end:
        check(seed)
        seed += 1
    print(f"{seed - options.seed} command lines, seeds {options.seed} to {seed - 1}: all ended well")


if __name__ == "__main__":
    main()
