"""The memory that there is for a process: the host's, or what its control groups leave."""

from pathlib import Path

import pytest

from sqlfront_engine.engine import MEMORY_SHARE, default_memory_limit
from sqlfront_engine.machine_memory import machine_memory

MIB = 1 << 20
NO_LIMIT_OF_VERSION_1 = (1 << 63) - 4096


def made(root: Path, own: str, **files: str) -> int:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(own)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return machine_memory(root)


HOST = machine_memory(Path("/nonexistent"))


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"sys/fs/cgroup/memory.max": f"{100 * MIB}\n"}, 100 * MIB),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "max\n"}, HOST),
        ("0::/\n", {}, HOST),
        (
            "0::/system.slice/it.service\n",
            {
                "sys/fs/cgroup/system.slice/it.service/memory.max": f"{300 * MIB}\n",
                "sys/fs/cgroup/system.slice/memory.max": f"{200 * MIB}\n",
            },
            200 * MIB,
        ),
        (
            "0::/kubepods/pod1/container\n",
            {"sys/fs/cgroup/memory.max": f"{100 * MIB}\n"},
            100 * MIB,
        ),
        (
            "12:cpu,cpuacct:/docker/a\n5:memory:/docker/a\n0::/\n",
            {"sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes": f"{400 * MIB}\n"},
            400 * MIB,
        ),
        (
            "5:memory:/docker/a\n",
            {"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{50 * MIB}\n"},
            50 * MIB,
        ),
        (
            "5:memory:/\n",
            {"sys/fs/cgroup/memory/memory.limit_in_bytes": f"{NO_LIMIT_OF_VERSION_1}\n"},
            HOST,
        ),
        ("0::/../../etc\n", {"sys/fs/cgroup/memory.max": f"{HOST * 2}\n"}, HOST),
    ],
)
def test_the_smaller_of_host_and_control_groups_counts(
    tmp_path: Path, own: str, files: dict[str, str], expected: int
) -> None:
    assert made(tmp_path, own, **files) == expected


def test_the_default_limit_is_a_share_of_that() -> None:
    assert default_memory_limit() == int(machine_memory() * MEMORY_SHARE)
