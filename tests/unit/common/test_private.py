"""Secrets that anybody on the machine can read are refused; what Leadsman writes is its owner's."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.errors import FilesUnusable
from common.private import check_secret, open_private
from common.tls import RotatingContext, RotatingPassword
from components.secured import Authority
from leadsman.web.site.access import BadAccess, read_token

TOKEN = "0123456789abcdef0123"  # noqa: S105 - of these tests only


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user can enter; those of pytest are their owner's."""
    folder = Path(tempfile.mkdtemp(prefix="leadsman it's "))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def secret(folder: Path, mode: int) -> Path:
    file = folder / "token"
    file.write_text(TOKEN)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o777])
def test_a_secret_that_everybody_can_read_is_refused_with_the_command_that_mends_it(public: Path, mode: int) -> None:
    file = secret(public, mode)
    with pytest.raises(FilesUnusable, match="Run chmod 600 ") as refusal:
        RotatingPassword.of(file)
    with pytest.raises(BadAccess, match="Run chmod 600 "):
        read_token(file, "127.0.0.1")
    assert TOKEN not in str(refusal.value)
    command = re.search(r"Run (chmod .*)", str(refusal.value))
    assert command is not None
    subprocess.run(["/bin/sh", "-c", command[1]], check=True)
    assert read_token(file, "127.0.0.1") == TOKEN
    assert RotatingPassword.of(file) == TOKEN


def test_a_private_key_that_everybody_can_read_is_refused_too(public: Path) -> None:
    certificate, key = Authority(public, "it's").issue("client")
    assert RotatingContext.of(None, certificate, key)
    key.chmod(0o644)
    with pytest.raises(FilesUnusable, match=r"key_file: .*Run chmod 600 "):
        RotatingContext.of(None, certificate, key)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o440, 0o660])
def test_a_secret_of_its_owner_or_group_is_taken(public: Path, mode: int) -> None:
    check_secret(secret(public, mode))


def test_a_secret_in_a_folder_that_others_cannot_enter_is_taken(public: Path) -> None:
    public.chmod(0o750)
    check_secret(secret(public, 0o644))


def test_a_secret_that_a_kubelet_mounted_is_never_refused(public: Path) -> None:
    """Write secrets and projected tokens like the kubelet, 0644 and owned by root: a link to `..data`, a link to a
    folder.
    """
    version = public / "..2026_11_22_04_10_00.1"
    version.mkdir(mode=0o755)
    secret(version, 0o644)
    (public / "..data").symlink_to(version.name)
    (public / "token").symlink_to("..data/token")
    check_secret(public / "token")
    assert RotatingPassword.of(public / "token") == TOKEN


def test_a_link_does_not_hide_what_it_leads_to(public: Path, tmp_path: Path) -> None:
    (tmp_path / "token").symlink_to(secret(public, 0o644))
    with pytest.raises(FilesUnusable):
        check_secret(tmp_path / "token")


@pytest.mark.parametrize("mode", ["ab", "wb"])
def test_a_file_is_made_for_its_owner_and_an_old_one_keeps_its_mode(tmp_path: Path, mode: str) -> None:
    before = os.umask(0)
    try:
        for _ in range(2):
            with open_private(tmp_path / "file", "ab" if mode == "ab" else "wb") as file:
                file.write(b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "file").read_bytes() == (b"xx" if mode == "ab" else b"x")
    (tmp_path / "file").chmod(0o640)
    open_private(tmp_path / "file", "ab").close()
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
