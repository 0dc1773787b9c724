"""`leadsman silence` in a container."""

import getpass
import os

import pytest

from leadsman.cli.silence import this_user


def test_a_user_without_a_name_is_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unnamed() -> str:
        raise KeyError("getpwuid(): uid not found: 10001")

    monkeypatch.setattr(getpass, "getuser", unnamed)
    assert this_user() == f"uid {os.getuid()}"
