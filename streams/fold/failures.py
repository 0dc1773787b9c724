"""Errors that a reducer or an alert did not expect: each loses its record, and stops nothing else."""

from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from typing import Final, ParamSpec, TypeVar

from common.errors import BadRecord

REDUCER_FAILED: Final = "reducer_failed"
_OF_THE_MACHINE: Final = (MemoryError, OSError)
"""Errors that are not a record's fault: the folding process ends, and folds the record again."""
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


def twice(name: str, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a pure function, and once more if it raises, because a temporary error is not a record's fault.

    Raises ReducerFailed, and unchanged BadRecord and errors of the machine.
    """
    try:
        return act(*args, **kwargs)
    except (BadRecord, *_OF_THE_MACHINE):
        raise
    except Exception:  # noqa: BLE001, S110  # the second time tells
        pass
    try:
        return act(*args, **kwargs)
    except (BadRecord, *_OF_THE_MACHINE):
        raise
    except Exception as error:
        raise ReducerFailed(name, error) from error
