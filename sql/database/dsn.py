"""Addresses of a database: a folder as `/abs/dir`, `rel/dir`, `chdb:///abs/dir` or `chdb://rel/dir`, or
`http(s)://user:password@host:8123/database`.

A server's password can be in a file, `?password_file=PATH`, and so can the CA of its certificate, `&ca_file=PATH`.
`?cluster=NAME` makes the tables replicated ones of that cluster, and `&sharded=1` spreads their rows over its
shards. `insert_quorum` and `select_sequential_consistency` are ClickHouse's settings of these names.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from common.errors import FilesUnusable
from common.tls import RotatingPassword
from sql.database.errors import BadDsn, DatabaseError

DEFAULT_DATABASE: Final = "leadsman"
"""On a server."""
EMBEDDED_DATABASE: Final = "default"
"""The default in a folder: any other client of the engine shows it first."""
FORMS: Final = "a folder or http://user:password@host:8123/leadsman"
_OF_SERVERS: Final = (
    "database",
    "password_file",
    "cluster",
    "sharded",
    "insert_quorum",
    "select_sequential_consistency",
)
_CLUSTER: Final = re.compile(r"[\w.-]{1,100}")
_QUORUM: Final = re.compile(r"auto|[2-9]|[1-9]\d")
_SWITCH: Final = re.compile(r"[01]")


@dataclass(frozen=True, slots=True)
class Embedded:
    """The engine inside this process, over a folder. `str()` is its DSN."""

    folder: Path
    database: str = EMBEDDED_DATABASE

    def __str__(self) -> str:
        folder = str(self.folder).replace("%", "%25").replace("#", "%23")
        return f"chdb://{folder}" + (
            "" if self.database == EMBEDDED_DATABASE else f"?database={quote(self.database)}"
        )


@dataclass(frozen=True, slots=True)
class Server:
    """A ClickHouse server's HTTP interface. `str()` leaves the password out."""

    host: str
    port: int
    secure: bool
    database: str = DEFAULT_DATABASE
    user: str = "default"
    password: str = field(default="", repr=False)
    """A RotatingPassword if the password is in a file."""
    ca_file: Path | None = None
    """CA that verifies the server's certificate; by default the system's."""
    cluster: str = ""
    """The ClickHouse cluster whose replicas have the tables; empty if only this server has them."""
    sharded: bool = False
    """True if rows are spread over the shards of that cluster."""
    insert_quorum: str = ""
    """Number of replicas that have a row before it counts as stored."""
    sequential: bool = False
    """True if a query sees every row that a quorum has, or is refused."""

    @property
    def has_files(self) -> bool:
        """Tell whether its CA or its password can change while it is open."""
        return self.ca_file is not None or isinstance(self.password, RotatingPassword)

    @property
    def holder(self) -> str:
        """Return the database that holds the tables' own rows; if `sharded`, people read from another one."""
        return f"{self.database}_shard" if self.sharded else self.database

    @property
    def settings(self) -> Mapping[str, str | int]:
        """Return ClickHouse's settings for every statement."""
        settings: dict[str, str | int] = {}
        if self.insert_quorum:
            settings |= {"insert_quorum": self.insert_quorum, "insert_quorum_parallel": 0}
        if self.sequential:
            settings["select_sequential_consistency"] = 1
        if self.sharded:  # an insert that returned is on its shards; a join sees the rows of all of them
            settings |= {"distributed_foreground_insert": 1, "distributed_product_mode": "global"}
        return settings

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}/{self.database}"


Target: TypeAlias = Embedded | Server


def parse_dsn(text: str) -> Target:
    """Parse a DSN. A query parameter `database` names another database than the default.

    Raises BadDsn, whose message repeats nothing after `://` except the name of a file, because the rest may contain
    a password.
    """
    try:
        parts = urlsplit(text)
        if parts.scheme == "chdb":
            return _embedded(parts)
        if parts.scheme in {"http", "https"}:
            return _server(parts)
        if text and not parts.scheme:
            return Embedded(_folder(text))
    except BadDsn:
        raise
    except ValueError as error:
        raise BadDsn(
            f"the database's address ({text.partition(':')[0]}://...) cannot be read. Write {FORMS}"
        ) from error
    raise BadDsn(f"a database's address begins with chdb:, http: or https:. Write {FORMS}")


def existing(text: str) -> Target:
    """Parse a DSN of an existing database. Raises DatabaseError if its folder is missing."""
    target = parse_dsn(text)
    if isinstance(target, Embedded) and not target.folder.is_dir():
        raise DatabaseError(f"{target}: there is no database yet. Create one: leadsman replay PATH --db {target}")
    return target


def _embedded(parts: SplitResult) -> Embedded:
    folder = f"{unquote(parts.netloc)}/{unquote(parts.path).lstrip('/')}"
    if not folder.strip("/"):
        raise BadDsn("chdb:// lacks the folder of the database. Write chdb:///path/to/dir")
    return Embedded(_folder(folder), _options(parts, "database").get("database") or EMBEDDED_DATABASE)


def _folder(name: str) -> Path:
    if "?" in name or "\0" in name:
        raise BadDsn("the folder of a database may not have a question mark or a NUL in its name")
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError:
        raise BadDsn(f"there is no such user as in {name[:60]!r}. Write chdb:///path/to/dir") from None


def _server(parts: SplitResult) -> Server:
    secure = parts.scheme == "https"
    if not parts.hostname:
        raise BadDsn(f"{parts.scheme}:// lacks the host. Write http://user:password@host:8123/leadsman")
    options = _options(parts, *_OF_SERVERS, *(["ca_file"] if secure else []))
    ca_file = options.get("ca_file")
    if options.get("sharded") == "1" and not options.get("cluster"):
        raise BadDsn("the database's address has sharded without cluster: name the cluster of the shards")
    return Server(
        host=parts.hostname,
        port=parts.port or (8443 if secure else 8123),
        secure=secure,
        database=options.get("database") or unquote(parts.path.strip("/")) or DEFAULT_DATABASE,
        user=unquote(parts.username or "") or "default",
        password=_password(parts, options.get("password_file")),
        ca_file=Path(ca_file) if ca_file else None,
        cluster=_checked(options, "cluster", _CLUSTER, "the name of a cluster"),
        sharded=_checked(options, "sharded", _SWITCH, "0 or 1") == "1",
        insert_quorum=_checked(options, "insert_quorum", _QUORUM, "auto, or a number of replicas from 2 on"),
        sequential=_checked(options, "select_sequential_consistency", _SWITCH, "0 or 1") == "1",
    )


def _checked(options: Mapping[str, str], name: str, form: re.Pattern[str], expected: str) -> str:
    if name in options and not form.fullmatch(options[name]):
        raise BadDsn(f"the database's address has an option {name} that is not {expected}")
    return options.get(name, "")


def _password(parts: SplitResult, file: str | None) -> str:
    if not file:
        return unquote(parts.password or "")
    if parts.password:
        raise BadDsn("the database's address has a password and password_file; one of them is enough")
    try:
        return RotatingPassword.of(Path(file))
    except FilesUnusable as error:
        raise BadDsn(f"the database's {error}") from None


def _options(parts: SplitResult, *known: str) -> dict[str, str]:
    options = parse_qs(parts.query, keep_blank_values=True)
    if unknown := sorted(set(options) - set(known)):
        raise BadDsn(
            f"the database's address has an unknown option for {parts.scheme}: {unknown[0]}; "
            f"known are {', '.join(known)}"
        )
    return {name: values[-1] for name, values in options.items()}
