"""Certificates and passwords of files that are replaced while they are in use."""

from collections.abc import Callable
from pathlib import Path

import certifi
import pytest

from common.errors import FilesUnusable
from common.tls import RotatingContext, RotatingPassword, check_files

CA = Path(certifi.where()).read_text()


def _context(file: Path) -> object:
    file.write_text(CA)
    return RotatingContext.of(file, None, None)


def _password(file: Path) -> object:
    file.write_text("canary\n")
    return RotatingPassword.of(file)


@pytest.mark.parametrize(("of", "setting"), [(_context, "ca_file"), (_password, "password_file")])
def test_a_file_that_is_empty_for_a_moment_cannot_be_used_until_it_is_whole_again(
    tmp_path: Path, of: Callable[[Path], object], setting: str
) -> None:
    file = tmp_path / "file"
    option = of(file)
    whole = file.read_text()
    check_files(["SASL_SSL", option])
    file.write_text("")
    with pytest.raises(FilesUnusable, match=rf"^{setting}: {file} ") as failed:
        check_files(["SASL_SSL", option])
    assert "canary" not in str(failed.value)
    file.write_text(whole)
    check_files([option])


def test_a_password_is_what_its_file_holds_when_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("one\n")
    password = RotatingPassword.of(file)
    file.write_text("two\r\n")
    assert password.encode() == b"two"
