"""EXECUTE IMMEDIATE as a frozen struct."""

import msgspec


class ExecuteImmediate(msgspec.Struct, frozen=True):
    """``EXECUTE IMMEDIATE text [INTO names] [USING values [AS names]]``. ``text`` is the text of the
    expression whose value is the statement to run, ``into`` the dotted names of variables, ``using`` the text
    of the values with their aliases, empty without USING."""

    text: str
    into: tuple[str, ...] = ()
    using: str = ""
