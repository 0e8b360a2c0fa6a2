"""Types that several threads decode for the first time."""

import os
import subprocess
import sys

PROGRAM = """
import sys, threading
import msgspec
from sqlfront_cluster import codec

sys.setswitchinterval(1e-6)
for _ in range(300):
    inner = msgspec.defstruct("Inner", [("a", int | None), ("b", list[dict[str, tuple[int, ...]]])])
    outer = msgspec.defstruct("Outer", [("x", inner), ("y", list[inner] | None), ("z", dict[str, inner])])
    content = codec.encode(outer(inner(1, []), [], {}))
    together = threading.Barrier(3)

    def decode():
        together.wait()
        codec.decode(content, outer)

    threads = [threading.Thread(target=decode) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_decode_a_type_for_the_first_time_at_once() -> None:
    """In a process of its own: msgspec alone would end it with a segmentation fault."""
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, **paths}, check=False)
    assert process.returncode == 0
