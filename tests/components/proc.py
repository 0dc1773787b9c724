"""What Linux tells of a running process."""

from pathlib import Path


def peak_bytes(pid: int) -> int:
    """The most memory that it has held until now; OSError where it has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {pid} has ended")


def children(pid: int) -> set[int]:
    """Those that its main thread started and that have not been waited for; OSError where it has ended."""
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
