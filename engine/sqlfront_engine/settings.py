"""What a session contributes to evaluation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """The session's part in the meaning of expressions; part of a plan's key. ``time_zone`` is an IANA
    name."""

    time_zone: str = "UTC"
