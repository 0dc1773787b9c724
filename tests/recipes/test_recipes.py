"""The pages of `docs/recipes/`, followed to the letter in a copy of the repository."""

from pathlib import Path

from recipes.follow import Copy


def followed(page: str, folder: Path, files: int) -> Copy:
    """The page takes what its table lists, so many files and, but for generated ones, no other."""
    copy = Copy(page, folder)
    assert copy.changed() == copy.edited
    assert copy.places == copy.listed
    assert len(copy.places) == files
    copy.lint()
    return copy


def test_a_new_analytic_is_five_files(tmp_path: Path) -> None:
    copy = followed("docs/recipes/new-analytic.md", tmp_path, 5)
    copy.generate()
    copy.test(
        "tests/scenarios", "tests/contract", "tests/unit/sql/schema/test_migrate.py", "-k", "node_upgrades or column"
    )


def test_a_new_alert_is_four_files(tmp_path: Path) -> None:
    copy = followed("docs/recipes/new-alert.md", tmp_path, 4)
    copy.generate()
    of_all = sorted((copy.folder / "tests/unit/streams/alerting").glob("test_*.py"))  # each other alert has its own
    copy.test(*map(str, of_all), "tests/unit/streams/alerting/alerts/test_node_cordoned.py")


def test_a_new_source_is_two_files_beside_its_scenario(tmp_path: Path) -> None:
    copy = followed("docs/recipes/new-source.md", tmp_path, 3)
    copy.test(
        "tests/scenarios", "tests/contract/test_sources.py", "tests/unit/ingest/files", "-k", "machine or dumps"
    )


def test_a_changed_rule_is_its_text_its_place_and_a_test(tmp_path: Path) -> None:
    copy = followed("docs/recipes/change-a-rule.md", tmp_path, 3)
    copy.test("tests/unit/streams/rules/values", "tests/unit/docs/test_rules_live_once.py")
