"""The cache of built components: complete folders only, built once, and a clear word when a tool is missing."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from components.kafka import kafka_libraries, kafka_storage
from components.programs.cache import ComponentMissing, cache_folder, cached, require, run_step, tool
from paths import TESTS


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEADSMAN_CACHE", str(tmp_path))
    return tmp_path


def test_the_cache_is_in_the_home_folder_unless_it_is_named(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    assert cache_folder() == own_cache
    monkeypatch.delenv("LEADSMAN_CACHE")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert cache_folder() == Path("/home/somebody/.cache/leadsman-components")


def test_a_component_is_built_once_and_again_for_another_version() -> None:
    built: list[Path] = []
    first = cached("thing", "1", built.append)
    assert cached("thing", "1", built.append) == first
    assert cached("thing", "2", built.append) != first
    assert len(built) == 2


def test_a_build_that_fails_leaves_nothing_and_is_tried_again(own_cache: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise ComponentMissing("no disk")

    with pytest.raises(ComponentMissing):
        cached("thing", "1", fail)
    assert [path.name for path in own_cache.iterdir()] == ["thing-1.lock"]
    done = cached("thing", "1", lambda folder: (folder / "whole").touch())
    assert [path.name for path in done.iterdir()] == ["whole"]


def test_what_a_killed_build_left_is_removed_by_the_next(own_cache: Path) -> None:
    (own_cache / "thing-1.unfinished-abc").mkdir()
    cached("thing", "1", lambda folder: (folder / "whole").touch())
    assert sorted(path.name for path in own_cache.iterdir()) == ["thing-1", "thing-1.lock"]


def test_two_that_ask_at_the_same_time_build_once() -> None:
    builds: list[Path] = []
    first_builds = threading.Event()
    second_asked = threading.Event()

    def build(folder: Path) -> None:
        builds.append(folder)
        first_builds.set()
        second_asked.wait(0.3)

    threads = [threading.Thread(target=cached, args=("thing", "1", build)) for _ in range(2)]
    threads[0].start()
    first_builds.wait()
    threads[1].start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1


def test_a_build_that_needs_itself_is_refused_and_not_waited_for() -> None:
    def first(_: Path) -> None:
        cached("second", "1", second)

    def second(_: Path) -> None:
        cached("first", "1", first)

    with pytest.raises(RuntimeError, match="first is needed to build itself, by way of second-1"):
        cached("first", "1", first)


def test_a_broker_s_storage_is_formatted_on_a_machine_that_has_no_classes_of_brokers(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    """The broker that writes these classes copies that storage: each waited for the other on a new machine."""
    monkeypatch.delenv("LEADSMAN_CACHE")
    require(kafka_libraries)
    libraries = kafka_libraries().parent
    monkeypatch.setenv("LEADSMAN_CACHE", str(own_cache))
    (own_cache / libraries.name).symlink_to(libraries)
    storage = kafka_storage.__wrapped__()
    assert sorted(path.name for path in own_cache.iterdir() if path.is_dir()) == [
        libraries.name,
        storage.parent.name,
    ]


def test_a_missing_tool_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ComponentMissing, match="`mvn` is not on PATH: install Maven"):
        tool("mvn")


def test_a_failed_step_shows_its_last_lines(tmp_path: Path) -> None:
    failing = [sys.executable, "-c", "import sys; print('because'); sys.exit(3)"]
    with pytest.raises(ComponentMissing, match=r"exited 3\nbecause"):
        run_step("failing", failing, tmp_path)


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_missing_component_fails_under_ci_and_skips_elsewhere(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Path:
        raise ComponentMissing("install Maven")

    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="install Maven"):
        require(missing)


def test_prepare_says_what_is_missing_and_exits_1() -> None:
    environment = {"PYTHONPATH": str(TESTS), "PATH": "/nowhere", "LEADSMAN_CACHE": str(cache_folder())}
    command = [sys.executable, "-m", "components", "prepare", "kafka"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "kafka: MISSING. `mvn` is not on PATH: install Maven" in done.stderr
