"""The exchange of two names of a file system in one step (Linux's ``renameat2`` with RENAME_EXCHANGE)."""

import ctypes
import errno
import os
from typing import Final

_EXCHANGE: Final = 2


def exchange(first: tuple[int, str], second: tuple[int, str]) -> None:
    """Exchange the files or folders that two names stand for, atomically: each name exists at every moment.
    Each argument is the descriptor of a folder and a name in the folder. Raises the OSError that
    :func:`os.rename` would raise, and OSError with ENOSYS or EINVAL where the system or the file system has
    no such exchange."""
    if _renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if _renameat2(first[0], os.fsencode(first[1]), second[0], os.fsencode(second[1]), _EXCHANGE):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), first[1], None, second[1])


# glibc has had the function since 2.28; other C libraries have it or not.
_renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
if _renameat2 is not None:
    _renameat2.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
