"""Worker and lander die or are paused at fail points while the pipeline runs; others take over."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from components.parts import Part
from components.processes import Process, is_paused
from faults.dying import WENT_ON
from faults.fire import Attacked
from faults.offsets import ends, publishers_since, reached
from streams.kafka.membership import MembershipLost
from waiting import eventually


def die(on: Attacked, of_worker: str, of_lander: str, folder: Path) -> None:
    """Kill by SIGKILL a worker and a lander that are started while those of `on` are away, each at such a fail point
    of `faults.dying`.
    """
    for each in _started(on, of_worker, of_lander, folder, "SIGKILL"):
        assert each.wait() == -signal.SIGKILL, each.last_lines()


def pause(on: Attacked, of_worker: str, of_lander: str, folder: Path, then: Callable[[], None] | None) -> None:
    """Stop by SIGSTOP a worker and a lander that are started while those of `on` are away, each at such a fail point.
    Others take over; then the stopped ones are resumed, the worker ends, and `then` is called. Without `then` they
    are killed while stopped. All are killed at the end.
    """
    paused = _started(on, of_worker, of_lander, folder, "SIGSTOP")
    others = [on.pipeline.part("work", "1"), on.pipeline.part("land", "1")]
    try:
        for each in paused:
            eventually(f"it is paused {each.name}", lambda each=each: is_paused(each.pid))  # type: ignore[misc]
        taken_over = reached(on.pipeline)
        for other in others:
            other.start()
        eventually("others have taken over", taken_over)
        published = (on.pipeline.topics.findings.name, on.pipeline.topics.alerts.name)
        before = asyncio.run(ends(on.pipeline, published))
        if then is not None:
            then()
            for each in paused:
                os.kill(each.pid, signal.SIGCONT)
            for each in paused:
                eventually(f"{each.name}: it goes on", lambda each=each: WENT_ON in each.log.read_text())  # type: ignore[misc]
            worker, _ = paused
            eventually(f"{worker.name}: it ends", lambda: not worker.runs)
            assert MembershipLost.__name__ in worker.log.read_text()
            assert len(asyncio.run(publishers_since(on.pipeline, before))) == 1
            then()
    finally:
        for each in (*paused, *others):
            each.kill()


def _started(on: Attacked, of_worker: str, of_lander: str, folder: Path, sent: str) -> list[Process]:
    started: list[Process] = []
    for what, fail_point in {"work": of_worker, "land": of_lander}.items():
        argv = ["faults.dying", fail_point, sent]
        log = folder / f"{what} {fail_point} {sent} {len(list(folder.iterdir()))}.log"
        started.append(Part(fail_point, argv, log, on.pipeline.environment(what, "0")))
        started[-1].start()
    return started
