"""`leadsman up` as a process: what ends it, and with which status."""

import re
from pathlib import Path

import pytest

from components.command import leadsman, leadsman_process
from components.processes import HOST, free_port
from waiting import eventually


@pytest.fixture
def flags(kubeconfig: Path, tmp_path: Path) -> list[str]:
    """A kubeconfig that can be read, a Kafka that is not there, a database that could be."""
    return [
        f"--kafka={HOST}:{free_port()}",
        f"--kubeconfig={kubeconfig}",
        f"--db=chdb://{tmp_path / 'db'}",
    ]


def _started(log: str) -> dict[str, int]:
    return {name: int(pid) for name, pid in re.findall(r"is started +part=(\w+) pid=(\d+)", log)}


def test_what_no_restart_heals_ends_it_with_its_status_and_message(flags: list[str], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("apiVersion: v1")
    done = leadsman("up", *flags, f"--kubeconfig={empty}")
    assert done.returncode == 10
    assert f"kubeconfig {empty} cannot be used: Invalid kube-config file. Expected key current-context" in done.stderr
    assert "watch ended with status 10" in done.stderr
    assert not any(Path(f"/proc/{pid}").exists() for pid in _started(done.stdout).values())


def test_it_waits_for_a_kafka_that_is_away_and_ends_on_sigterm(flags: list[str], tmp_path: Path) -> None:
    up = leadsman_process("up", *flags, folder=tmp_path)
    up.start()
    try:
        eventually("each part was started again", lambda: up.log.read_text().count("is started") >= 6)
        up.terminate()
        assert up.wait() == 0
    finally:
        up.stop()
    text = up.log.read_text()
    assert text.count("cannot be used") >= 3
    assert "Check kafka.bootstrap_servers" in text
    assert "Traceback" not in text
    assert not any(Path(f"/proc/{pid}").exists() for pid in _started(text).values())


def test_a_missing_kubeconfig_is_reported_before_anything_starts(flags: list[str], tmp_path: Path) -> None:
    done = leadsman("up", *flags, f"--kubeconfig={tmp_path / 'missing'}")
    assert done.returncode == 10
    assert f"{tmp_path / 'missing'} does not exist: name a file by --kubeconfig or KUBECONFIG" in done.stderr
    assert _started(done.stdout) == {}


def test_settings_that_cannot_be_are_reported_before_anything_starts(flags: list[str]) -> None:
    done = leadsman("up", *flags, "--kubelet=perhaps")
    assert done.returncode == 2
    assert "--kubelet must be 'direct', 'proxy' or 'off'" in done.stderr
    assert _started(done.stdout) == {}


def test_without_kafka_what_cannot_be_is_one_sentence_and_a_status(kubeconfig: Path, tmp_path: Path) -> None:
    """The kubeconfig's API server does not exist."""
    db = f"--db=chdb://{tmp_path / 'db'}"
    for flags, status, problem in (
        ([f"--kubeconfig={tmp_path / 'missing'}"], 10, "does not exist: name a file by --kubeconfig or KUBECONFIG"),
        ([f"--kubeconfig={kubeconfig}", "--context=nowhere"], 11, "has no context 'nowhere': it has c"),
        ([f"--kubeconfig={kubeconfig}"], 4, "does not answer"),
        ([f"--kubeconfig={kubeconfig}", "--host=0.0.0.0"], 2, "--token-file FILE"),
    ):
        done = leadsman("up", db, "--port=0", *flags)
        assert (done.returncode, done.stdout) == (status, "")
        assert problem in done.stderr
        assert done.stderr.count("\n") == 1
