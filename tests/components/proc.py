"""Reads from Linux what a running process holds and takes."""

import os
from pathlib import Path
from resource import getpagesize
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def peak_bytes(pid: int) -> int:
    """The most memory that it has held until now; OSError where it has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {pid} has ended")


def resident_bytes(pid: int) -> int:
    """The memory that it holds now; OSError where it has ended."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * getpagesize()


def open_files(pid: int) -> int:
    """Return the number of its open files, sockets and pipes; OSError if it has ended."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def children(pid: int) -> set[int]:
    """Return the children of its main thread that have not been waited for; OSError where it has ended."""
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def cpu_seconds(pid: int) -> float:
    """Return the time it has taken, with the children that it waited for; OSError where it has ended."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, stat[11:15])) / _TICKS
