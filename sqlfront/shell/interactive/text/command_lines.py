"""Lines of the shell's commands, which begin with a backslash."""


def is_command(text: str) -> bool:
    """Return whether a text is a command of the shell, which begins with a backslash."""
    return text.lstrip().startswith("\\")


def is_farewell(text: str) -> bool:
    """Return whether a text is ``exit`` or ``quit``, with which users of other shells leave.

    >>> is_farewell("exit"), is_farewell("Quit;"), is_farewell("select 1")
    (True, True, False)
    """
    return text.strip().rstrip(";").rstrip().lower() in ("exit", "quit")


def parts_of(line: str) -> tuple[str, str]:
    r"""Return the name of a command, without the backslash, and its argument. ``\!`` needs no blank behind
    it; a semicolon at the end of another command's line is left out.

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
