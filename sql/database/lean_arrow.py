"""Imports pyarrow without numpy, pandas and retained memory. Other modules import it from here.

pyarrow imports numpy where there is one, which takes longer than pyarrow itself and is for functions of numpy alone.
Importing pandas takes a second and 60 MB, and nothing here uses it. pyarrow looks for it once, when it is given its
first list, and does without where there is none. (chDB requires pandas, so it is installed with the embedded engine.)
"""

from sql.database.without import without

with without("numpy"):
    import pyarrow as pa

__all__ = ["make_arrow_lean", "pa"]


def make_arrow_lean() -> None:
    """Make pyarrow return memory at once, and find no pandas unless that is imported already."""
    if "jemalloc" in pa.supported_memory_backends():  # not everywhere
        pa.jemalloc_set_decay_ms(0)
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    with without("pandas"):
        pa.array([""])
