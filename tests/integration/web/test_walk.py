"""A person on call, in Chromium: from an alert's link to the cause and the next step in at most three clicks."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlencode

import pytest

from components.command import succeeds
from components.page.browser import browse, browser_modules, chromium_program
from components.page.site import serving
from components.programs.cache import require
from paths import NODE_PRESSURE, SCENARIOS

pytestmark = pytest.mark.components("browser")

MOST_CLICKS: Final = 3


class Walk(NamedTuple):
    """The links that are followed from the runbook of an alert, and the texts read on the way, ended by the cause."""

    capture: Path
    alert: str
    node: str
    firing: str
    """In the runbook's own list: what fired, and where."""
    step: tuple[str, ...]
    """The next steps of the runbook."""
    clicks: tuple[tuple[str, str], ...]
    """The text of each link, and what the address that it leads to holds."""
    cause: tuple[str, ...]


WALKS: Final = {
    "eviction": Walk(
        NODE_PRESSURE,
        "PodsEvicted",
        "real-node-1",
        "1 pod evicted, low on memory, 14.4 GiB available, below the 15.0 GiB threshold",
        ("free the resource, or raise requests",),
        (
            (
                "Which running pods were evicted, for which resource, and whether a pod explains it",
                "name=evicted_pods",
            ),
            ("All 25 columns", "wide=1"),
        ),
        # that pod held 4.75 GiB, and 61 % of all that the node's pods used
        ("hog-775668d95b-wcnzb", "memory.available", "14.4 GiB", "4.75 GiB", "61 %"),
    ),
    "eviction, by its node": Walk(
        NODE_PRESSURE,
        "PodsEvicted",
        "real-node-1",
        "1 pod evicted, low on memory",
        ("free the resource, or raise requests",),
        (("real-node-1", "/node?"),),
        ("hog-775668d95b-wcnzb", "low on memory"),
    ),
    "image GC": Walk(
        NODE_PRESSURE,
        "ImageGCInsufficientFreed",
        "real-node-1",
        "0 B of 180 GiB",
        ("Find what fills the disk", "Pull it again and pin"),
        (
            (
                "Whether image GC works on each node: how full its disk is, what it does now, and what went wrong",
                "name=image_gc",
            ),
        ),
        ("74 % of the image file system is used", "freed nothing", "the runtime cannot get the pause image"),
    ),
    "TopologyAffinityError": Walk(
        SCENARIOS / "numa_admission" / "capture.jsonl",
        "NUMAFragmented",
        "n1",
        "",
        ("To free up one NUMA node, delete its small pods with exclusive CPUs",),
        (
            (
                (
                    "Which pods a kubelet rejected and why, where the API shows enough free, "
                    "and the free CPUs of its NUMA nodes"
                ),
                "name=refused_pods",
            ),
        ),
        (
            "four",
            "The pod requests 4 exclusive CPUs, and 5 CPUs were free when the node was read",
            "at most 3 of them on one NUMA node",
        ),
    ),
    "scheduler blind spot": Walk(
        SCENARIOS / "scheduling_lost_node" / "capture.jsonl",
        "SchedulerBlindSpot",
        "",
        "the scheduler does not see a node",
        ("restart kube-scheduler. For lost_node a new node helps too",),
        (("Where a scheduler works with a wrong list of nodes, and the evidence for it", "name=blind_spots"),),
        ("lost_node",),
    ),
}


@pytest.fixture(scope="module", autouse=True)
def components() -> None:
    require(chromium_program, browser_modules)


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, str]]:
    """The page of each capture that is walked."""
    with ExitStack() as stack:
        found = {}
        for capture in {walk.capture: None for walk in WALKS.values()}:
            db = tmp_path_factory.mktemp("walked") / "db"
            succeeds("replay", capture, "--quiet", db=db)
            found[capture] = stack.enter_context(serving(db))
        yield found


@pytest.mark.parametrize("failure", WALKS)
def test_an_alert_s_link_leads_to_cause_and_next_step(failure: str, sites: dict[Path, str]) -> None:
    walk = WALKS[failure]
    assert len(walk.clicks) <= MOST_CLICKS
    clicks = [["follow", f'main a:text-is("{text}")', f"**{leads}**"] for text, leads in walk.clicks]
    text = ["read", "runbook", "document.querySelector('main').innerText"]
    about = urlencode({"node": walk.node} if walk.node else {})
    url = f"{sites[walk.capture]}/runbooks/{walk.alert}?{about}"
    (seen,) = browse([{"url": url, "actions": [text, *clicks]}])
    assert (seen["console"], seen["errors"]) == ([], [])
    if "/ask?" in seen["url"]:
        assert "p.cluster=" in seen["url"]
        assert ("p.node=" in seen["url"]) is bool(walk.node)
    for expected in (walk.firing, *walk.step):
        assert expected in " ".join(seen["read"]["runbook"].split()), expected
    for expected in walk.cause:
        assert expected in " ".join(seen["text"].split()), expected
