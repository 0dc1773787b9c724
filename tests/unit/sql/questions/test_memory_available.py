"""`memory.available` beside what `free` prints, by hand (rules: eviction-signals)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from components.rows import T0, row, store, store_samples, summary
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import MachineMemoryRow

MIB = 1024 * 1024
MEMORY = {
    "total_bytes": 1000 * MIB,
    "free_bytes": 100 * MIB,
    "available_bytes": 480 * MIB,
    "buffers_bytes": 20 * MIB,
    "cached_bytes": 380 * MIB,
    "anonymous_bytes": 300 * MIB,
    "active_file_bytes": 150 * MIB,
    "inactive_file_bytes": 200 * MIB,
    "reclaimable_slab_bytes": 80 * MIB,
}
"""The kernel's own is what is left of 1000: less 100 free, 300 anonymous, 400 of page cache."""
PAGES = "Besides free memory, memory.available counts 200 MiB of inactive file pages"
FREE = (
    "MemAvailable counts these pages, 150 MiB of active ones, and 80.0 MiB of slab, minus the kernel's own reserve."
)


def asked(db: Database, available: int | None = None, usage: int | None = None, seconds: int = 5) -> Sequence[Any]:
    """Return the bytes in MiB, as far as they are known, and the words."""
    store(db, row(MachineMemoryRow, node="n", **MEMORY))
    if available is not None:
        amounts: dict[str, Any] = {
            "memory_available_bytes": available * MIB,
            "memory_usage_bytes": usage and usage * MIB,
        }
        store_samples(db, summary(T0 + timedelta(seconds=seconds), "n", **amounts))
    table = run(db, saved_query("memory_available"), {"node": "n"})
    (found,) = [dict(zip(table.column_names, each, strict=True)) for each in table.rows]
    assert (found["free_bytes"], found["buff_cache_bytes"]) == (100 * MIB, 480 * MIB)
    assert (found["free_available_bytes"], found["held_back_bytes"]) == (480 * MIB, 50 * MIB)
    names = "memory_available_bytes", "uncounted_bytes", "changed_bytes"
    return [*(None if found[each] is None else found[each] / MIB for each in names), found["why"]]


def test_a_kubelet_that_sums_memory_and_page_cache_does_not_count_the_kernel(database: Database) -> None:
    """Working set: 300 + 400 - 200. Of 1000 that leaves 500: 100 free, 200 inactive, 200 of the kernel."""
    assert asked(database, 500, 700) == [
        *(500, 200, 0),
        f"{PAGES} and 200 MiB of kernel memory that does not count as used. {FREE}",
    ]


def test_an_older_kubelet_counts_all_that_is_not_free(database: Database) -> None:
    """Working set: 900 - 200. It measured 10 MiB less, some seconds later."""
    assert asked(database, 290, 910) == [
        *(290, 0, -10),
        f"{PAGES}. {FREE}",
    ]


def test_a_kubelet_whose_usage_is_not_known_is_a_newer_one(database: Database) -> None:
    assert asked(database, 500)[:3] == [500, 200, 0]


def test_without_a_sample_of_the_same_minute_only_free_is_known(database: Database) -> None:
    unknown = f"{PAGES}; no statistics of the kubelet within a minute are known. {FREE}"
    assert asked(database) == [None, 200, None, unknown]
    assert asked(database, 500, 700, seconds=61) == [None, 200, None, unknown]


def test_without_an_agent_there_is_no_answer(database: Database) -> None:
    store_samples(database, summary(T0, "n", memory_available_bytes=500 * MIB))
    assert run(database, saved_query("memory_available"), {"node": "n"}).rows == []
