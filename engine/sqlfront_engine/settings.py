"""What a session contributes to evaluation."""

import msgspec


class Settings(msgspec.Struct, frozen=True):
    """The session's part in the meaning of expressions; part of a plan's key. ``time_zone`` is an IANA
    name."""

    time_zone: str = "UTC"
