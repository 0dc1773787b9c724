"""The processes that fold a share of the nodes' logs each for one replay, and make columns of their rows.

The embedded database belongs to one process, so the replay's own inserts what comes back.
"""

import signal
import subprocess
import sys
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import IO, Final, NamedTuple, Self, cast

import msgspec
import pyarrow as pa

from common.cycles import rare_cycle_searches
from common.errors import SourceUnusable
from common.frames import read_frame, write_frame
from leadsman.run.reducers import Rules, reducers_of
from sql.landing.batches import Lander, tables
from streams.fold.batch import Batch
from streams.local.share import Chunk, Outcome, Share

PIPE_BYTES: Final = 1024 * 1024


class _Asked(msgspec.Struct, array_like=True):
    """Description of a process to start."""

    number: int
    shares: int
    rules: Rules


class _Result(msgspec.Struct, array_like=True):
    outcome: Outcome
    columns: list[tuple[str, bytes]]
    """Columns by table, as Arrow streams."""


class WorkerEnded(SourceUnusable):
    """A process ended before its time: no checkpoint has what it folded, so the next replay folds it again."""


class _Worker(NamedTuple):
    process: subprocess.Popen[bytes]
    results: SimpleQueue[bytes | None]
    reads: Thread
    """Thread that reads all output, so that the two processes never wait for each other."""


class Workers:
    """`count` processes for a replay into `lander`, until the block ends. Raises WorkerEnded."""

    def __init__(self, count: int, lander: Lander, rules: Rules) -> None:
        self.count = count
        self._lander = lander
        self._rules = rules
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(_Result).decode
        self._workers: list[_Worker] = []

    def __enter__(self) -> Self:
        for number in range(self.count):
            self._workers.append(_started())
            self._write(number, _Asked(number, self.count, self._rules))
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.reads.join()
            with suppress(BrokenPipeError), worker.process:
                pass

    def send(self, share: int, chunk: Chunk) -> None:
        self._write(share, chunk)

    def receive(self, share: int) -> Outcome:
        encoded = self._workers[share].results.get()
        if encoded is None:
            raise self._ended(share)
        result = self._decode(encoded)
        if result.columns:
            read = [(table, pa.ipc.open_stream(each).read_all()) for table, each in result.columns]
            self._lander.write_columns(read)
        return result.outcome

    def _write(self, share: int, message: _Asked | Chunk) -> None:
        try:
            write_frame(cast("IO[bytes]", self._workers[share].process.stdin), self._encode(message))
        except BrokenPipeError:
            raise self._ended(share) from None

    def _ended(self, share: int) -> WorkerEnded:
        status = self._workers[share].process.wait()
        return WorkerEnded(
            f"a process that folds ended too soon, with status {status}; replay again: nothing is taken twice"
        )


def _started() -> _Worker:
    """It has SIGINT blocked from its beginning: it is the replay's own process that a person interrupts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = subprocess.Popen(  # noqa: S603  # Python itself, with a module of ours
            [sys.executable, "-P", "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pipesize=PIPE_BYTES
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    results = SimpleQueue[bytes | None]()
    reads = Thread(target=_receive, args=(process.stdout, results), name="results", daemon=True)
    reads.start()
    return _Worker(process, results, reads)


def _receive(of: IO[bytes], results: SimpleQueue[bytes | None]) -> None:
    while (message := read_frame(of)) is not None:
        results.put(message)
    results.put(None)


def main() -> None:
    """Fold the chunks that standard input has, until it ends."""
    of, into = sys.stdin.buffer, sys.stdout.buffer
    asked = msgspec.msgpack.decode(read_frame(of) or b"", type=_Asked)
    columns: list[tuple[str, bytes]] = []

    def hold(batch: Batch) -> None:
        columns.extend((table, _encoded(rows)) for table, rows in tables(batch))

    share = Share(reducers_of(asked.rules), asked.number, asked.shares, hold)
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(Chunk).decode
    with rare_cycle_searches(), suppress(BrokenPipeError):
        while (message := read_frame(of)) is not None:
            outcome = share.fold(decode(message))
            write_frame(into, encode(_Result(outcome, columns)))
            columns.clear()


def _encoded(columns: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, columns.schema) as writer:
        writer.write_table(columns)
    return stream.getvalue().to_pybytes()


if __name__ == "__main__":
    main()
