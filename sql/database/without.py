"""pyarrow without pandas, and without memory that it keeps.

Importing pandas takes a second and 60 MB, and nothing here uses it. pyarrow looks for it once, when it is given its
first list, and does without where there is none. (chDB requires pandas, so it is installed with the embedded engine.)
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from types import ModuleType

import pyarrow as pa


class _Without(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /) -> None:
        if name == self._package:
            raise ModuleNotFoundError(f"no {name} meanwhile", name=name)


@contextmanager
def without(package: str) -> Iterator[None]:
    """Let who looks for the package in this block find none; one that is imported already stays."""
    finder = _Without(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def make_arrow_lean() -> None:
    """Let pyarrow give memory back at once, and look for pandas now and find none; imported already, it stays."""
    if "jemalloc" in pa.supported_memory_backends():  # not everywhere
        pa.jemalloc_set_decay_ms(0)
        pa.set_memory_pool(pa.jemalloc_memory_pool())
    with without("pandas"):
        pa.array([""])
