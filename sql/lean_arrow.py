"""pyarrow without pandas: importing that takes a second and 60 MB, and nothing here uses it.

pyarrow looks for pandas once, when it is given its first list, and does without where there is none. (chDB requires
pandas, so it is always installed.)
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


def leave_pandas_out() -> None:
    """Let pyarrow look for pandas now, and find none; where pandas is imported already, nothing changes."""
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([""])
    finally:
        sys.meta_path.remove(finder)
