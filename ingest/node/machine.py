"""The machine's memory as the kernel counts it (rules: eviction-signals), and its other file systems."""

import re
from pathlib import Path
from typing import Any, Final

from common.text import plain
from ingest.node.file_systems import read_file_systems
from ingest.node.sysfs import CannotReadError, is_there, read_file

_AMOUNT: Final = re.compile(r"^([A-Za-z]+(?:\([a-z]+\))?): +([0-9]{1,15}) kB$", re.MULTILINE)
_AMOUNTS: Final = {
    "MemTotal": "total_bytes",
    "MemFree": "free_bytes",
    "MemAvailable": "available_bytes",
    "Buffers": "buffers_bytes",
    "Cached": "cached_bytes",
    "SwapCached": "swap_cached_bytes",
    "AnonPages": "anonymous_bytes",
    "Active(file)": "active_file_bytes",
    "Inactive(file)": "inactive_file_bytes",
    "SReclaimable": "reclaimable_slab_bytes",
}


def read_machine(root: Path) -> dict[str, Any] | None:
    """Read what the kernel shows of the machine below `root`; None if that is nothing. Raises CannotReadError."""
    memory, file_systems = _memory(root / "proc/meminfo"), read_file_systems(root)
    return {"machine_memory": memory, "file_systems": file_systems} if memory or file_systems else None


def _memory(path: Path) -> dict[str, int] | None:
    if not is_there(path):
        return None
    found = dict(_AMOUNT.findall(read_file(path)))
    if missing := sorted(_AMOUNTS.keys() - found.keys()):
        raise CannotReadError(f"{plain(path)}: lacks {', '.join(missing)}")
    return {field: int(found[name]) << 10 for name, field in _AMOUNTS.items()}
