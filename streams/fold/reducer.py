"""Defines the interface of an analytic: a pure step over the records of one log, with a state per key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final, Generic, Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar

import msgspec

from common.errors import BadRecord
from ingest.model.records import Record
from streams.fold.findings import Row

State = TypeVar("State", bound=msgspec.Struct)


class Withdrawal(NamedTuple):
    """An order to remove an alert that was resolved long ago from the topic of alerts; its rows stay."""

    fingerprint: str


Output: TypeAlias = Row | Record | Withdrawal
"""A row lands in its table; a record goes to its own log."""


class LogFindings(NamedTuple):
    """The findings and records of a log's reducers from one record, as input of a reducer over rows."""

    at: datetime
    """Time of the record: the log's event time."""
    node: str
    new_minute: bool
    """True if the log reached a new minute with the record; `rows` can be empty then."""
    rows: Sequence[Row | Record]
    """Rows of the reducer's `row_types`, in their order."""


@dataclass(frozen=True, slots=True)
class Reducer(Generic[State]):
    """An analytic. `step` and `expire` read no clock, do no I/O and never mutate their arguments.

    Time is event time: `record.ts`. `expire` is called with the key's own event time before the first record of each
    new minute of it, except a HeartbeatRecord on a node's log. So its outcome depends on the log alone. None forgets
    the key. `step` raises BadRecord for a record that makes no sense, and its state is then unchanged. If the rest of
    the record must still change the state, the BadRecord is among the outputs instead.
    """

    name: str
    """The name of its module (`stateless` for some without a state), state table, test and scenario."""
    version: int
    """Version of the state's shape; a state of another version is dropped and rebuilt."""
    log: Literal["node", "cluster"]
    """`node`: one state for each cluster and node, over that node's log. `cluster`: one for each cluster."""
    takes: tuple[type[Record], ...]
    state: type[State]
    """A frozen msgspec Struct whose fields all have defaults: `state()` is the state of a new key."""
    step: Callable[[State, Any], tuple[State, Sequence[Output | BadRecord]]]
    expire: Callable[[State, datetime], tuple[State | None, Sequence[Output]]] = lambda state, _: (state, ())
    row_types: tuple[type[Row], ...] = ()
    """Row types that it reads, as `LogFindings`, from the earlier reducers of its log."""


AnyReducer: TypeAlias = Reducer[Any]
"""A reducer with any type of state."""


class NoState(msgspec.Struct, frozen=True):
    """The state of a reducer, or of an alert, that remembers nothing."""


def stateless(
    name: str, log: Literal["node", "cluster"], takes: tuple[type[Record], ...], rows: Callable[[Any], Sequence[Row]]
) -> Reducer[NoState]:
    """Return a reducer that makes rows of each record alone."""
    return Reducer(name, 1, log, takes, NoState, step=lambda state, record: (state, rows(record)))


REDUCER_FAILED: Final = "reducer_failed"
P = ParamSpec("P")
T = TypeVar("T")


class ReducerFailed(BadRecord):
    """A record on which a reducer, or an alert, failed twice from the same state; the cause is what it raised."""

    def __init__(self, name: str, error: Exception) -> None:
        at = extract_tb(error.__traceback__)[-1]
        where = f"{Path(at.filename).name}:{at.lineno}"
        super().__init__(REDUCER_FAILED, f"{name} failed at {where}: {type(error).__name__}: {error}"[:_LONGEST])


_LONGEST: Final = 1000
"""Characters of a reason."""


def call_with_retry(name: str, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a pure function, and again if it raises, because a temporary error is not the record's fault.

    Raises ReducerFailed, and unchanged BadRecord and errors of the machine.
    """
    try:
        return act(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  # the second attempt decides
        return retry(name, error, act, *args, **kwargs)


def retry(name: str, error: Exception, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a pure function that has raised an error. Raises as `call_with_retry` does."""
    if isinstance(error, BadRecord | MemoryError | OSError):  # neither are the machine's errors
        raise error
    try:
        return act(*args, **kwargs)
    except (BadRecord, MemoryError, OSError):
        raise
    except Exception as second:
        raise ReducerFailed(name, second) from second
