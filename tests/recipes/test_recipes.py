"""The pages of `docs/recipes/`, followed to the letter in a copy of the repository."""

from pathlib import Path

from recipes.follow import Copy


def test_a_new_analytic_is_five_files(tmp_path: Path) -> None:
    copy = Copy("docs/recipes/new-analytic.md", tmp_path)
    assert copy.changed() == copy.edited
    assert len(copy.places()) == 5
    copy.lint()
    copy.test(
        "tests/scenarios", "tests/contract", "tests/unit/sql/schema/test_migrate.py", "-k", "node_upgrades or column"
    )
