"""The kernel's amounts of memory, and with files taken away (rules: eviction-signals)."""

import re
from pathlib import Path

import pytest

from fakes.machine import write
from ingest.node.machine import read_machine
from ingest.node.sysfs import CannotReadError

MEMINFO = """\
MemTotal:       24684084 kB
MemFree:         6196260 kB
MemAvailable:   18013028 kB
Buffers:         1414516 kB
Cached:          9577104 kB
SwapCached:            0 kB
Active:          4360368 kB
Inactive(anon):  5856532 kB
Active(file):    4350468 kB
Inactive(file):  6620132 kB
AnonPages:       5862288 kB
SReclaimable:    1247448 kB
HugePages_Total:       0
"""
FREE = """\
               total        used        free      shared  buff/cache   available
Mem:     25276502016  6831161344  6344970240    21385216 12532805632 18445340672
"""
"""`free -b` of procps 4.0.2, at the same moment of the same machine (Linux 6.18)."""


def test_the_amounts_are_those_that_free_prints(tmp_path: Path) -> None:
    write(tmp_path / "proc/meminfo", MEMINFO)
    found = read_machine(tmp_path)
    assert found is not None
    memory = found["machine_memory"]
    total, _, free, _, cache, available = map(int, FREE.splitlines()[1].split()[1:])
    assert (memory["total_bytes"], memory["free_bytes"], memory["available_bytes"]) == (total, free, available)
    assert memory["buffers_bytes"] + memory["cached_bytes"] + memory["reclaimable_slab_bytes"] == cache


def test_this_machine_has_every_amount() -> None:
    found = read_machine(Path("/"))
    assert found is not None
    memory = found["machine_memory"]
    (total,) = re.findall(r"^MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    assert memory["total_bytes"] == int(total) * 1024
    assert 0 < memory["inactive_file_bytes"] + memory["active_file_bytes"] < memory["total_bytes"]


def test_a_machine_without_proc_shows_nothing(tmp_path: Path) -> None:
    assert read_machine(tmp_path) is None


def test_amounts_that_are_missing_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "proc/meminfo", MEMINFO.replace("MemAvailable", "MemOther"))
    with pytest.raises(CannotReadError, match=r"meminfo: lacks MemAvailable$"):
        read_machine(tmp_path)
