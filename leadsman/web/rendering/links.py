"""Where a page's links go: to addresses of the site, or to places within the report."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from leadsman.web.reading.scope import Scope
from leadsman.web.reading.words import KINDS

HOME: Final = "/"
NODE: Final = "/node"


class Links:
    """Of a page of the site; every address carries the range."""

    site = True

    def __init__(self, scope: Scope | None = None, *, node: str = "", kind: str = "") -> None:
        self._scope = {} if scope is None else scope.address()
        self.at_node = node
        self.kind = kind
        self.path = NODE if node else HOME

    def home(self) -> str:
        return _address(HOME, self._scope)

    def node(self, name: str) -> str:
        return _address(NODE, {**self._scope, "node": name})

    def cluster(self, name: str) -> str:
        return _address(HOME, {"cluster": name})

    def range(self, last: str) -> str:
        """This page, of another range."""
        return _address(self.path, {**_only(self._scope, "cluster"), **self._here(), "last": last})

    def kinds(self) -> list[tuple[str, tuple[str, str]]]:
        """This page with only one kind of finding in its story: each kind with its name and address."""
        base = {**self._scope, **({"node": self.at_node} if self.at_node else {})}
        everything = ("", ("All", _address(self.path, base) + "#timeline"))
        return [
            everything,
            *(
                (kind, (name, _address(self.path, {**base, "kind": kind}) + "#timeline"))
                for kind, name in KINDS.items()
            ),
        ]

    def _here(self) -> dict[str, str]:
        return ({"node": self.at_node} if self.at_node else {}) | ({"kind": self.kind} if self.kind else {})


class ReportLinks(Links):
    """Within one file: nodes shown in detail are link targets."""

    site = False

    def __init__(self, nodes: Sequence[str] = ()) -> None:
        super().__init__()
        self._keys = {name: f"node-{place}" for place, name in enumerate(nodes, start=1)}

    def key(self, name: str) -> str:
        """The place of a node in the file."""
        return self._keys[name]

    def node(self, name: str) -> str:
        return f"#{self._keys[name]}" if name in self._keys else ""


def _address(path: str, values: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(values)}" if values else path


def _only(values: Mapping[str, str], name: str) -> dict[str, str]:
    return {name: values[name]} if name in values else {}
