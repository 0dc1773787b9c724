"""Imports pyarrow without numpy, pandas and retained memory. Other modules import pyarrow from here.

Importing numpy takes longer than importing pyarrow, and only functions for numpy need it. Importing pandas takes a
second and 60 MB, and nothing here uses it: pyarrow looks for it once, when it gets its first list, and continues
without it. (chDB requires pandas, so it is installed with the embedded engine.)
"""

from sql.database.without import without

with without("numpy"):
    import pyarrow as pa

__all__ = ["make_arrow_lean", "pa"]


def make_arrow_lean() -> None:
    """Make pyarrow return memory at once, and hide pandas from it unless pandas is imported already."""
    if "jemalloc" in pa.supported_memory_backends():  # not available on every platform
        pa.jemalloc_set_decay_ms(0)
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    with without("pandas"):
        pa.array([""])
