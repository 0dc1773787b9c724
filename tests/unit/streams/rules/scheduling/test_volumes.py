"""Volumes restrict a pod's nodes (rules: scheduler-volumes), by version and for several pods in sequence.
tests/oracle/test_volumes.py compares the rules themselves with the scheduler's.
"""

from typing import Final

import pytest

from streams.rules.scheduling.constraints import ClaimedVolume, Constraints
from streams.rules.scheduling.selectors import Requirement
from streams.rules.scheduling.storage import Attachment, Claim, Class, NodeDrivers, Volume
from streams.rules.scheduling.volume_needs import (
    NO_EVIDENCE,
    NO_VOLUME,
    TOO_MANY,
    NodeVolumes,
    Storage,
    needs_of,
    node_volumes,
    volume_reasons,
)

DRIVER: Final = "disk.example.com"
ONE: Final = Constraints(claimed=[ClaimedVolume("data", "a")])
STORAGE: Final = Storage(
    listed=frozenset({"persistentvolumes", "volumeattachments"}),
    claims={("ns", "a"): Claim(volume="v", bound=True)},
    volumes={
        "v": Volume(nodes=[[Requirement("zone", "In", ["a"])]], driver=DRIVER),
        "other": Volume(driver=DRIVER),
    },
    nodes={"n": NodeDrivers({DRIVER: 1})},
)


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        (32, "node(s) had volume node affinity conflict"),
        (33, "node(s) didn't match PersistentVolume's node affinity"),
    ],
)
def test_a_volume_elsewhere_is_reported_in_the_words_of_the_schedulers_version(minor: int, words: str) -> None:
    needs = needs_of(ONE, "ns", STORAGE)
    assert volume_reasons(needs, "n", {"zone": "b"}, NodeVolumes(), minor) == ([words], [])
    assert volume_reasons(needs, "n", {"zone": "a"}, NodeVolumes(), minor) == ([], [])


@pytest.mark.parametrize(("minor", "reasons"), [(31, []), (32, [TOO_MANY])])
def test_attachments_that_no_pod_uses_count_since_1_32(minor: int, reasons: list[str]) -> None:
    attached = [Attachment(DRIVER, "n", "other")]
    volumes = node_volumes(STORAGE, "n", [], attached)
    assert volume_reasons(needs_of(ONE, "ns", STORAGE), "n", {"zone": "a"}, volumes, minor) == (reasons, [])


def test_a_volume_that_is_used_on_the_node_does_not_count_twice() -> None:
    volumes = node_volumes(STORAGE, "n", [("ns", ONE)], [Attachment(DRIVER, "n", "v")])
    assert volume_reasons(needs_of(ONE, "ns", STORAGE), "n", {"zone": "a"}, volumes, 36) == ([], [])


@pytest.mark.parametrize(
    ("handles", "reasons"),
    [(("h", "h"), []), (("h", "i"), [TOO_MANY]), (("", ""), [TOO_MANY]), (("h", ""), [TOO_MANY])],
)
def test_volumes_with_one_handle_are_one_and_those_without_a_handle_are_told_apart_by_name(
    handles: tuple[str, str], reasons: list[str]
) -> None:
    volumes = dict(zip(("v", "other"), (Volume(driver=DRIVER, handle=each) for each in handles), strict=True))
    storage = STORAGE._replace(volumes=volumes, claims={**STORAGE.claims, ("ns", "b"): Claim("other", bound=True)})
    needs = needs_of(ONE, "ns", storage)
    user = Constraints(claimed=[ClaimedVolume("data", "b")])
    used = node_volumes(storage, "n", [("ns", user)], [Attachment(DRIVER, "n", "other")])
    assert volume_reasons(needs, "n", {}, used, 36) == (reasons, [])
    attached = node_volumes(storage, "n", [], [Attachment(DRIVER, "n", "other")])
    assert volume_reasons(needs, "n", {}, attached, 36)[0] == [TOO_MANY]
    both = Constraints(claimed=[*ONE.claimed, *user.claimed])
    assert volume_reasons(needs_of(both, "ns", storage), "n", {}, NodeVolumes({DRIVER: 1}), 36) == (reasons, [])


def test_an_unknown_disk_of_a_pod_makes_the_number_of_attachments_unknown() -> None:
    other = Constraints(volumes=["ebs"])
    volumes = node_volumes(STORAGE, "n", [("ns", other)], [])
    unknown = f"how many volumes of {DRIVER} the node has attached"
    assert volume_reasons(needs_of(ONE, "ns", STORAGE), "n", {"zone": "a"}, volumes, 36) == ([], [unknown])


def test_without_any_evidence_nothing_is_claimed() -> None:
    needs = needs_of(ONE, "ns", NO_EVIDENCE)
    assert volume_reasons(needs, "n", {}, NodeVolumes(), 36) == ([], ["where volume data can be attached"])


@pytest.mark.parametrize(
    ("zone", "expected"),
    [("a", ([], [])), ("b", ([], ["where volume data can be attached"])), ("c", ([NO_VOLUME], []))],
)
def test_among_volumes_reserved_for_one_claim_the_order_is_unknown(
    zone: str, expected: tuple[list[str], list[str]]
) -> None:
    def reserved(*zones: str) -> Volume:
        nodes = [[Requirement("zone", "In", [*zones])]]
        return Volume(storage_class="local", claim=("ns", "a", ""), nodes=nodes)

    storage = Storage(
        listed=frozenset({"persistentvolumes"}),
        claims={("ns", "a"): Claim(storage_class="local")},
        volumes={"v": reserved("a"), "w": reserved("a", "b")},
        classes={"local": Class(provisioner="kubernetes.io/no-provisioner", binding="WaitForFirstConsumer")},
    )
    assert volume_reasons(needs_of(ONE, "ns", storage), "n", {"zone": zone}, NodeVolumes(), 36) == expected
