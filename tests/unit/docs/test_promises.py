"""Every test that the pages of promises name exists, and nobody has turned it off."""

import ast
import re
from typing import Final

import pytest

from named import functions, is_on, off
from paths import ROOT, TESTS

_PAGE: Final = (ROOT / "docs/delivery.md").read_text("utf-8")
_SECTION: Final = _PAGE.split("### What is promised\n")[1].split("\n## ")[0]
_HOLDS: Final = {"always", "effectively once", "at least once", "reported"}


@pytest.mark.parametrize("page", [_PAGE, (ROOT / "SECURITY.md").read_text("utf-8")], ids=["delivery", "security"])
def test_every_named_test_exists_and_is_not_skipped(page: str) -> None:
    names = set(re.findall(r"`(test_\w+)`", page))
    assert names
    assert off(names) == set()
    files = set(re.findall(r"`(test_\w+\.py)`", page))
    assert files <= {path.name for path in TESTS.rglob("test_*.py")}


def test_every_promise_has_how_often_it_holds_and_a_test() -> None:
    rows = [line.strip("| ").split(" | ") for line in _SECTION.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 10
    for promise, holds, tried_by in rows:
        assert promise.endswith(".")
        assert holds in _HOLDS
        assert re.search(r"`test_\w+`", tried_by), promise


def test_a_test_that_is_off_is_recognised() -> None:
    skipped = "@pytest.mark.skip(reason='x')\ndef test_a(): ...\n@pytest.mark.xfail\ndef test_b(): ...\n"
    on = "@pytest.mark.skipif(True, reason='x')\ndef test_c(): ...\ndef test_d(): ...\n"
    assert [is_on(each) for each in functions(ast.parse(skipped + on))] == [False, False, True, True]
    assert off({"test_nobody_wrote", "test_a_test_that_is_off_is_recognised"}) == {"test_nobody_wrote"}
