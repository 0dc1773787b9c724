"""Reads certificates and passwords from their files for each connection, so that they rotate without a restart."""

import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from common.errors import FilesUnusable
from common.private import check_secret
from common.text import plain


class RotatingContext(ssl.SSLContext):
    """A client's TLS context that rereads its CA and certificate for each connection.

    An unusable file fails that connection. Without a CA file it trusts the system's CAs.
    """

    _ca_file: Path | None
    _certificate_file: Path | None
    _key_file: Path | None

    @classmethod
    def of(cls, ca_file: Path | None, certificate_file: Path | None, key_file: Path | None) -> Self:
        """Raises FilesUnusable, also for a key that every user can read."""
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context._ca_file, context._certificate_file, context._key_file = ca_file, certificate_file, key_file
        context.now()
        if key_file is not None:
            _check("key_file", key_file)
        return context

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        return self.now().wrap_bio(*arguments, **named)

    def wrap_socket(self, *arguments: Any, **named: Any) -> ssl.SSLSocket:
        """Wrap a connection of a client that waits for its answers (blocking I/O)."""
        return self.now().wrap_socket(*arguments, **named)

    def now(self) -> ssl.SSLContext:
        """The current content of the files; raises FilesUnusable."""
        try:
            context = ssl.create_default_context(cafile=self._ca_file)
        except OSError as error:
            raise FilesUnusable(f"ca_file: {plain(self._ca_file)} cannot be used: {_cause(error)}") from None
        if self._certificate_file is not None:
            try:
                context.load_cert_chain(self._certificate_file, self._key_file)
            except OSError as error:
                files = " and ".join(plain(each) for each in (self._certificate_file, self._key_file) if each)
                raise FilesUnusable(f"certificate_file, key_file: {files} cannot be used: {_cause(error)}") from None
        return context


class RotatingPassword(str):
    """A password that rereads its file whenever it is encoded, as SCRAM does for each connection."""

    __slots__ = ("_file",)
    _file: Path

    @classmethod
    def of(cls, file: Path) -> Self:
        """Raises FilesUnusable, also for a file that every user can read."""
        password = cls(_read(file))
        _check("password_file", file)
        password._file = file
        return password

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return _read(self._file).encode(encoding, errors)


def check_files(options: Iterable[object]) -> None:
    """Raises FilesUnusable if a file of one of these contexts and passwords cannot be used now."""
    for option in options:
        if isinstance(option, RotatingContext):
            option.now()
        elif isinstance(option, RotatingPassword):
            option.encode()


def _check(setting: str, file: Path) -> None:
    try:
        check_secret(file)
    except FilesUnusable as error:
        raise FilesUnusable(f"{setting}: {error}") from None


def _cause(error: Exception) -> str:
    """Return the error's text without its number and the file, which the message already names."""
    return getattr(error, "strerror", None) or str(error)


def _read(file: Path) -> str:
    try:
        text = file.read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FilesUnusable(f"password_file: {plain(file)} cannot be read: {_cause(error)}") from None
    if not text:
        raise FilesUnusable(f"password_file: {plain(file)} is empty")
    return text
