"""The order in which `make test` hands out its groups, so that processes that wait and one that computes overlap."""

from itertools import chain
from types import SimpleNamespace
from typing import Any

from components.schedule import Beside

WAITING = ("kubelet", "kafka:a", "kafka:b", "browser:c", "kafka:d")
COMPUTING = ("sql/test_a", "web/test_b", "cli/test_c")


class Process:
    """Ends the tests it is given at once, and remembers their groups."""

    shutting_down = False

    def __init__(self, number: int) -> None:
        self.gateway, self.begun = SimpleNamespace(id=f"gw{number}"), list[int]()

    def send_runtest_some(self, tests: list[int]) -> None:
        self.begun += tests

    def shutdown(self) -> None:
        self.shutting_down = True


def handed_out(processes: int, groups: tuple[str, ...]) -> list[list[str]]:
    """Return the groups that each process got when all ran one test at a time, in turn."""
    config: Any = SimpleNamespace(
        getvalue=lambda _: [f"{processes}*popen"], option=SimpleNamespace(loadscopereorder=False)
    )
    tests = [f"test_{number}@{group}" for group in groups for number in range(3)]
    order, workers = Beside(config), [Process(number) for number in range(processes)]
    for worker in workers:
        order.add_node(worker)
        order.add_node_collection(worker, tests)
    order.schedule()
    for turn in range(len(tests)):
        for worker in workers:
            if turn < len(worker.begun):
                order.mark_test_complete(worker, worker.begun[turn])
    return [list(dict.fromkeys(tests[test].partition("@")[2] for test in worker.begun)) for worker in workers]


def test_the_last_process_computes_while_the_others_wait_for_components() -> None:
    *waiting, computing = handed_out(3, (*WAITING, *COMPUTING))
    assert computing[:2] == ["sql/test_a", "web/test_b"]
    for begun in waiting:
        assert begun == sorted(begun, key=lambda group: "/" in group)


def test_an_idle_process_takes_a_group_of_the_other_kind() -> None:
    for groups in ((*WAITING, *COMPUTING), WAITING, COMPUTING):
        begun = handed_out(3, groups)
        assert sorted(chain(*begun)) == sorted(groups)
        assert all(begun)


def test_a_single_process_begins_with_components() -> None:
    assert handed_out(1, (*WAITING, *COMPUTING)) == [[*WAITING, *COMPUTING]]
