"""pyarrow without pandas, and without memory that it keeps.

Importing pandas takes a second and 60 MB, and nothing here uses it. pyarrow looks for it once, when it is given its
first list, and does without where there is none. (chDB requires pandas, so it is always installed.)
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"no {name} for pyarrow", name=name)


def make_arrow_lean() -> None:
    """Let pyarrow give memory back at once, and look for pandas now and find none; imported already, it stays."""
    if "jemalloc" in pa.supported_memory_backends():  # not everywhere
        pa.jemalloc_set_decay_ms(0)
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([""])
    finally:
        sys.meta_path.remove(finder)
