"""Every folder with tests is run by `make test`; a folder that is forgotten fails for nobody."""

import tomllib

from paths import TESTS

APART = {"wheel"}
"""Run by `make wheel`, which CI calls too."""


def test_make_test_runs_every_folder_with_tests() -> None:
    settings = tomllib.loads((TESTS.parent / "pyproject.toml").read_text("utf-8"))
    run = {path.removeprefix("tests/") for path in settings["tool"]["pytest"]["ini_options"]["testpaths"]}
    assert run | APART == {file.relative_to(TESTS).parts[0] for file in TESTS.glob("*/**/test_*.py")}
