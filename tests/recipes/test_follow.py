"""Pages are followed to the letter: what does not say where it goes, or no longer fits, is an error."""

from pathlib import Path

import pytest

from paths import ROOT
from recipes.follow import Copy, Edit, edits

FENCE = "```"


def page(lead: str, text: str, kind: str = "python") -> str:
    return f"# Title\n\n{lead}\n\n{FENCE}{kind}\n{text}\n{FENCE}\n\nMore.\n"


def copy(tmp_path: Path, text: str) -> Copy:
    (tmp_path / "page.md").write_text(text)
    return Copy(str(tmp_path / "page.md"), tmp_path / "copy")


@pytest.mark.parametrize(
    ("lead", "edit"),
    [
        ("New file `a/b.py`:", Edit("a/b.py", "x = 1\n")),
        ("At the end of `a/b.py`:", Edit("a/b.py", "x = 1\n", "end")),
        ("In `a/b.py`, after `    y = 2`:", Edit("a/b.py", "x = 1\n", "after", "y = 2")),
        ("In `a/b.py`, before `y = 2`:", Edit("a/b.py", "x = 1\n", "before", "y = 2")),
    ],
)
def test_the_line_before_a_block_says_where_it_goes(lead: str, edit: Edit) -> None:
    assert list(edits(page(lead, "x = 1"))) == [edit]


def test_a_command_goes_nowhere() -> None:
    assert list(edits(page("Then:", "make generate", "sh"))) == []


def test_a_block_may_contain_fences() -> None:
    inner = f"{FENCE}sh\nls\n{FENCE}\n"
    assert list(edits(f"New file `a.md`:\n\n`{FENCE}md\n{inner}`{FENCE}\n")) == [Edit("a.md", inner)]


def test_a_block_that_does_not_say_where_it_goes_is_refused() -> None:
    with pytest.raises(ValueError, match="Somewhere"):
        list(edits(page("Somewhere:", "x = 1")))


@pytest.mark.parametrize(
    ("lead", "match"),
    [
        ("New file `README.md`:", "README.md is there already"),
        ("In `LICENSE`, after `no such line`:", "'no such line' 0 times"),
    ],
)
def test_an_edit_that_no_longer_fits_is_refused(tmp_path: Path, lead: str, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        copy(tmp_path, page(lead, "x = 1"))


def test_the_copy_differs_by_the_edits_alone_and_numbers_continue(tmp_path: Path) -> None:
    migrations = len(list((ROOT / "sql/schema/migrations").glob("[0-9]*")))
    numbered = "sql/schema/migrations/NNNN_drop_nothing.sql"
    created = numbered.replace("NNNN", f"{migrations + 1:04d}")
    made = copy(
        tmp_path,
        f"| `{numbered}` | a migration |\n| `tests/scenarios/nothing/` | a scenario |\n\n"
        + page(f"New file `{numbered}`:", "SELECT 1", "sql")
        + page("New file `tests/scenarios/nothing/capture.jsonl`:", "{}", "json")
        + page("New file `tests/scenarios/nothing/expected/nodes.jsonl`:", "{}", "json")
        + page("At the end of `common/text.py`:", "x = 1"),
    )
    assert made.changed() == made.edited
    assert made.places == {numbered, "tests/scenarios/nothing", "common/text.py"}
    assert created in made.edited
    assert made.listed == {numbered, "tests/scenarios/nothing"}
    assert (made.folder / "common/text.py").read_text().endswith("\n\n\nx = 1\n")
    made.lint()


def test_a_command_that_fails_in_the_copy_fails_the_test(tmp_path: Path) -> None:
    made = copy(tmp_path, page("At the end of `common/text.py`:", "assert False, 'of the copy'"))
    with pytest.raises(AssertionError, match="of the copy"):
        made.run("-c", "import common.text")
