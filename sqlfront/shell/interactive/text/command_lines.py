"""Lines of the shell's commands, which begin with a backslash."""


def is_command(text: str) -> bool:
    """Whether a text is a command, not a statement."""
    return text.lstrip().startswith("\\")


def is_farewell(text: str) -> bool:
    """Whether a text is a word with which users of other shells leave.

    >>> is_farewell("exit"), is_farewell("Quit;"), is_farewell("select 1")
    (True, True, False)
    """
    return text.strip().rstrip(";").rstrip().lower() in ("exit", "quit")


def parts_of(line: str) -> tuple[str, str]:
    r"""The name and the argument of a command's line. ``\!`` needs no blank behind it; a semicolon at the end
    of another command's line is left out.

    >>> parts_of(r"\d flights;"), parts_of(r"\!ls -l; date"), parts_of("\\")
    (('d', 'flights'), ('!', 'ls -l; date'), ('', ''))
    """
    text = line.strip().removeprefix("\\")
    if text.startswith("!"):
        return "!", text[1:].strip()
    name, _, argument = text.partition(" ")
    if not argument:
        return name.rstrip(";"), ""
    return name, argument.strip().removesuffix(";").rstrip()
