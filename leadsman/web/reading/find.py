"""Nodes and pods by a part of their names."""

from typing import Final, NamedTuple

from leadsman.web.reading.asked import ask
from leadsman.web.reading.scope import Scope
from sql.database.open import Database

MOST: Final = 100


class Found(NamedTuple):
    """A node, or a pod with the node that it is or was on."""

    kind: str
    """node or pod."""
    namespace: str
    name: str
    node: str
    """Empty for a pod that has, or had, none."""
    gone: bool = False
    """The pod has ended or was deleted."""

    @property
    def where(self) -> str:
        """Say where the pod is, or was, up to the end of the range."""
        if self.node:
            return f"{'was ' if self.gone else ''}on {self.node}"
        return "never had a node" if self.gone else "waits for a node"


class Finding(NamedTuple):
    asked: str
    found: tuple[Found, ...]
    """The first MOST, those of exactly that name first."""
    cut: bool

    @property
    def only(self) -> Found | None:
        """Return the only match, or the only one of exactly that name."""
        exact = [each for each in self.found if self.asked in {each.name, f"{each.namespace}/{each.name}"}]
        one = exact or self.found
        return one[0] if len(one) == 1 else None


def find(db: Database, scope: Scope, asked: str) -> Finding:
    """Find nodes and pods whose names have every word. Raises DatabaseError."""
    words = asked.split()
    if not words:
        return Finding("", (), cut=False)
    rows = ask(db, "find", scope, words=words, whole=asked.strip(), most=MOST + 1)
    return Finding(asked.strip(), tuple(Found(**row) for row in rows[:MOST]), cut=len(rows) > MOST)
