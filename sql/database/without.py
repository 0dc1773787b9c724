"""Hides optional packages that other packages would import and Leadsman does not need."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from types import ModuleType


class _MissingPackage(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /) -> None:
        if name == self._package:
            raise ModuleNotFoundError(f"no {name} meanwhile", name=name)


@contextmanager
def without(package: str) -> Iterator[None]:
    """Make imports of the package fail in this block; a package that is already imported stays."""
    finder = _MissingPackage(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
