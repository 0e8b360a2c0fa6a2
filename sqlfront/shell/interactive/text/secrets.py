"""The check for texts that may hold a secret, so that no history stores them."""

import re
from typing import Final

#: The user's part of a URL with a password; a setting, option or variable that is called a secret.
_SECRET: Final = re.compile(
    r"\b\w[\w+.-]*://[^\s/@:'\"]*:[^\s/@]+@"
    r"|(?:password|passwd|secret|token|credential|api_?key|access_?key|private_?key)[\w.]*['\"`]?\s*"
    r"(?:=\s*\S|[\s,:]\s*['\"])",
    re.IGNORECASE,
)
_AES: Final = re.compile(r"\b(?:try_)?aes_(?:en|de)crypt\s*\(", re.IGNORECASE)
#: The command that gives a variable its value.
_VALUES: Final = re.compile(r"\s*\\set\b")


def is_private(text: str) -> bool:
    r"""Return whether a history must not store a text: it begins with a blank, sets a variable, or seems to
    hold a secret.

    >>> is_private(r"\set id 7"), is_private("select 'jdbc:x://me:pw@host/'"), is_private("select 1;")
    (True, True, False)
    """
    if text[:1].isspace() or _VALUES.match(text):
        return True
    return _SECRET.search(text) is not None or _AES.search(text) is not None
