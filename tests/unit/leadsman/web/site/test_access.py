"""Access to the page needs a token."""

import base64
from pathlib import Path

import pytest

from common.loopback import is_loopback, is_own_name
from leadsman.web.site.access import BadAccess, may_read, read_token

TOKEN = "0123456789abcdef0123"  # noqa: S105 - of these tests only


def basic(password: str) -> str:
    return "Basic " + base64.b64encode(f"anyone:{password}".encode()).decode()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert is_loopback(host)
    assert read_token(None, host) == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "node-1", "localhost.evil.example", ""])  # noqa: S104 - it is to be refused
def test_any_other_address_is_refused_without_a_token(host: str) -> None:
    with pytest.raises(BadAccess, match="--token-file"):
        read_token(None, host)


def test_a_token_is_the_content_of_its_file_without_the_line_break(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert read_token(tmp_path / "token", "192.168.1.7") == TOKEN


@pytest.mark.parametrize("content", [b"", b"short", b"long enough but \xc3\xa9 it has", b"\xff" * 32])
def test_a_token_that_cannot_serve_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(BadAccess, match="token"):
        read_token(tmp_path / "token", "127.0.0.1")


def test_a_token_file_that_lacks_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadAccess, match="No such file"):
        read_token(tmp_path / "none", "127.0.0.1")


def test_the_token_is_a_bearer_or_the_password_of_anyone() -> None:
    assert may_read(TOKEN, f"Bearer {TOKEN}")
    assert may_read(TOKEN, f"bearer  {TOKEN}")
    assert may_read(TOKEN, basic(TOKEN))


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        TOKEN,
        basic("wrong"),
        "Basic !!!",
        "Digest x",
        "Bearer é",
    ],
)
def test_anything_else_may_not_read(header: str) -> None:
    assert not may_read(TOKEN, header)


def test_without_a_token_everyone_may_read() -> None:
    assert may_read("", "")


@pytest.mark.parametrize(("header", "own"), [
    ("localhost:8420", True), ("127.0.0.1:1", True), ("[::1]:8420", True), ("[::1]", True), ("localhost", True),
    ("evil.example:8420", False), ("127.0.0.1.evil.example", False), ("", False), ("10.0.0.1:8420", False),
    ("localhost:8420@evil.example", False), ("[::1]evil.example", False), ("localhost:", False),
])  # fmt: skip
def test_only_names_of_loopback_are_its_own(header: str, own: bool) -> None:
    assert is_own_name(header) == own
