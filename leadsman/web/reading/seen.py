"""The times at which a node was seen, in any range."""

from datetime import datetime
from typing import NamedTuple

from leadsman.web.reading.asked import ask
from leadsman.web.reading.scope import Scope
from sql.database.open import Database


class Seen(NamedTuple):
    """Last times by object, samples, Events and pods."""

    before: datetime | None
    """Last, up to the end of the range."""
    after: datetime | None
    """First, from the end on."""
    deleted_at: datetime | None
    """When its object was last seen to be gone, up to the end."""

    def within(self, scope: Scope) -> bool:
        """Tell whether it was in the range, even if only until it was seen to be gone."""
        return any(at is not None and at >= scope.since for at in (self.before, self.deleted_at))


def read_seen(db: Database, scope: Scope, node: str) -> Seen:
    """Raises DatabaseError."""
    (row,) = ask(db, "node_seen", scope, node=node)
    return Seen(**row)
