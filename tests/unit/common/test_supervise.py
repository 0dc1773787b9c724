"""Processes that end are started again, and all end together."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from common.supervise import Part, PartFailedError, Supervisor
from components.processes import is_alive
from fakes.clock import FakeClock
from paths import ROOT
from waiting import until

pytestmark = pytest.mark.asyncio

LASTING = frozenset({2})


def _shell(name: str, script: str) -> Part:
    return Part(name, ("sh", "-c", script))


def _supervisor(parts: Sequence[Part], **more: Any) -> Supervisor:
    return Supervisor(parts, **{"lasting": LASTING, "environment": os.environ, **more})


async def _running(supervisor: Supervisor, then: Callable[[], Awaitable[None]]) -> None:
    """Run the parts until `then` has returned."""
    stop = asyncio.Event()
    run = asyncio.ensure_future(supervisor.run(stop))
    try:
        await then()
    finally:
        stop.set()
        await run


async def test_all_parts_run_and_end_with_sigterm(tmp_path: Path) -> None:
    parts = [
        _shell(
            name,
            f"trap 'touch {tmp_path}/{name}; exit' TERM; touch {tmp_path}/{name}-runs; while :; do sleep 0.05; done",
        )
        for name in "ab"
    ]
    supervisor = _supervisor(parts)
    pids: list[int] = []

    async def both_run() -> None:
        await until(lambda: all((tmp_path / f"{name}-runs").exists() for name in "ab"))
        pids.extend(supervisor.pids.values())

    await _running(supervisor, both_run)
    assert len(pids) == 2
    assert not any(is_alive(pid) for pid in pids)
    assert all((tmp_path / name).exists() for name in "ab")


async def test_a_part_that_ends_is_started_again_later_each_time(tmp_path: Path) -> None:
    clock = FakeClock()
    count = tmp_path / "count"
    part = _shell("a", f"echo >> {count}; kill -9 $$")
    supervisor = _supervisor([part], clock=clock.clock)

    async def four_times() -> None:
        await until(lambda: count.exists() and len(count.read_text()) >= 4)

    await _running(supervisor, four_times)
    assert clock.slept[:3] == [1, 2, 4]


@pytest.mark.parametrize("status", [0, 1])
async def test_a_part_that_ends_by_itself_is_restarted(tmp_path: Path, status: int) -> None:
    count = tmp_path / "count"
    supervisor = _supervisor([_shell("a", f"echo >> {count}; exit {status}")], clock=FakeClock().clock)

    async def twice() -> None:
        await until(lambda: count.exists() and len(count.read_text()) >= 2)

    await _running(supervisor, twice)
    assert len(count.read_text()) >= 2


async def test_a_part_that_no_restart_heals_ends_all(tmp_path: Path) -> None:
    go = tmp_path / "go"
    bad = _shell("bad", f"while ! [ -e {go} ]; do sleep 0.05; done; exit 2")
    supervisor = _supervisor([_shell("good", "exec sleep 60"), bad])
    run = asyncio.ensure_future(supervisor.run(asyncio.Event()))
    await until(lambda: len(supervisor.pids) == 2)
    good = supervisor.pids["good"]
    go.touch()
    with pytest.raises(PartFailedError, match="bad ended with status 2") as failed:
        await run
    assert failed.value.status == 2
    assert not is_alive(good)


async def test_a_part_that_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    deaf = _shell("deaf", f"trap '' TERM; touch {tmp_path}/deaf; while :; do sleep 0.05; done")
    supervisor = _supervisor([deaf], grace_seconds=0.3)
    pids: list[int] = []

    async def runs() -> None:
        await until((tmp_path / "deaf").exists)
        pids.extend(supervisor.pids.values())

    await _running(supervisor, runs)
    assert not is_alive(pids[0])


async def test_the_parts_get_the_environment_and_not_in_their_arguments(tmp_path: Path) -> None:
    reported = tmp_path / "told"
    part = _shell("a", f'printf %s "$LEADSMAN_DB" > {reported}.new; mv {reported}.new {reported}; exec sleep 60')
    supervisor = _supervisor([part], environment={**os.environ, "LEADSMAN_DB": "http://u:p@h/d"})

    async def is_told() -> None:
        await until(reported.exists)

    await _running(supervisor, is_told)
    assert reported.read_text() == "http://u:p@h/d"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
async def test_the_parts_end_with_a_supervisor_that_is_killed() -> None:
    program = (
        "import asyncio, os\n"
        "from common.supervise import Part, Supervisor\n"
        "supervisor = Supervisor([Part('a', ('sleep', '60'))], lasting=frozenset(), environment=os.environ)\n"
        "async def main():\n"
        "    asyncio.ensure_future(supervisor.run(asyncio.Event()))\n"
        "    while not supervisor.pids: await asyncio.sleep(0)\n"
        "    print(supervisor.pids['a'], flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, env=environment
    )
    assert killed.stdout is not None
    pid = 0
    while not pid:
        line = (await killed.stdout.readline()).decode().strip()
        pid = int(line) if line.isdecimal() else 0
    # the wrapper has asked the kernel once it has become the command
    await until(lambda: Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"))
    killed.send_signal(signal.SIGKILL)
    await killed.wait()
    await until(lambda: not is_alive(pid))
