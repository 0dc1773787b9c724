"""A shell offers only names that it takes as they are: somebody may run them with the next key."""

import pytest

from leadsman.cli.completion import _fits


@pytest.mark.parametrize("name", ["worker-1.example", "gke_a_b_c", "arn:aws:eks:eu-1:1:cluster/x", "user@cluster"])
def test_a_name_that_every_shell_takes_as_it_is_is_offered(name: str) -> None:
    assert _fits(name, name[:2])


@pytest.mark.parametrize(
    "name", ["a;id", "a$(id)", "a`id`", "a!id", "a*", "a{b,c}", "a~", "a#b", "a b", "a\nb", "--all", "=id", "%self"]
)
def test_a_name_that_a_shell_makes_more_of_is_not_offered(name: str) -> None:
    assert not _fits(name, "")
