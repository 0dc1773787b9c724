"""Derived files are committed as the code derives them."""

import pytest

from generate.__main__ import FILES
from paths import ROOT


@pytest.mark.parametrize("path", FILES)
def test_a_generated_file_is_current(path: str) -> None:
    assert (ROOT / path).read_text("utf-8") == FILES[path](), "run: make generate"
