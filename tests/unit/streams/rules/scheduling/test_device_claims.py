"""Claims of devices restrict a pod's nodes (rules: scheduler-devices), by version and by what a selector shows.
tests/oracle/test_devices.py compares the rules themselves with the scheduler's.
"""

from typing import Any, Final

import msgspec
import pytest

from ingest.model.objects.resource_claims import DeviceClass, ResourceClaim
from streams.rules.scheduling.constraints import ClaimedDevices, Constraints
from streams.rules.scheduling.device_claims import (
    ELSEWHERE,
    NO_DEVICES,
    TOO_FEW,
    DeviceClaim,
    Devices,
    NodeDevices,
    Request,
    Selection,
    Slice,
    claim_facts,
    class_facts,
    device_needs,
    device_reasons,
    node_devices,
)

GPU: Final = "gpu.example.com"
MADE: Final = Constraints(devices=[ClaimedDevices("gpu", "a", from_template=True)])
NAMED: Final = Constraints(devices=[ClaimedDevices("gpu", "a")])
UNKNOWN: Final = "which nodes have the devices of claim gpu"
EVERYTHING: Final = frozenset({"resourceclaims", "deviceclasses", "resourceslices"})


@pytest.mark.parametrize(
    ("minor", "words"),
    [
        (35, "ResourceClaim ns/a was not created for pod ns/p (pod is not owner)"),
        (36, "ResourceClaim ns/a was not created for Pod ns/p (Pod is not owner)"),
    ],
)
def test_a_claim_of_another_pod_is_reported_in_the_words_of_the_schedulers_version(minor: int, words: str) -> None:
    devices = Devices(claims={("ns", "a"): DeviceClaim(owner="another")})
    (need,) = device_needs(MADE, "ns", devices, minor, pod=("p", "new"))
    assert need.reasons == [words]


def test_without_any_evidence_nothing_is_claimed() -> None:
    for each in (MADE, NAMED):
        assert device_reasons(device_needs(each, "ns", NO_DEVICES, 36), "n", {}, NodeDevices()) == ([], [UNKNOWN])


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (f'device.driver == "{GPU}"', ([GPU], True)),
        (f"\n device.driver=='{GPU}' ", ([GPU], True)),
        (f'device.driver == "{GPU}" && device.attributes["{GPU}"].model == "a"', ([GPU], False)),
        (f'device.driver == "{GPU}" && false || true', ([], False)),
        (f'device.driver == "{GPU}" && true ? false : true', ([], False)),
        (f'device.driver == "{GPU}" || true', ([], False)),
        (f'device.driver == "{GPU}" == false', ([], False)),
        (f'!(device.driver == "{GPU}")', ([], False)),
        ('device.driver == "\\x67pu"', ([], False)),
    ],
)
def test_only_the_drivers_part_of_an_expression_is_read(expression: str, found: tuple[list[str], bool]) -> None:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    selection = class_facts(msgspec.convert({"metadata": {"name": "c"}, "spec": spec}, DeviceClass))
    assert (selection.drivers, selection.certain) == found


@pytest.mark.parametrize(
    ("request_", "more", "count", "certain"),
    [
        ({"exactly": {"deviceClassName": "gpu", "count": 2}}, {}, 2, True),
        ({"exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}, {}, 1, False),
        ({"exactly": {"deviceClassName": "gpu", "adminAccess": True}}, {}, 0, False),
        ({"exactly": {"deviceClassName": "gpu", "capacity": {"requests": {"memory": "1Gi"}}}}, {}, 1, False),
        ({"exactly": {"deviceClassName": "gpu", "count": 33}}, {}, 33, False),
        ({"exactly": {"deviceClassName": "gpu"}}, {"constraints": [{"matchAttribute": "a/b"}]}, 1, False),
        ({"firstAvailable": [{"name": "s", "deviceClassName": "gpu", "count": 2}]}, {}, 0, False),
        ({"deviceClassName": "gpu", "count": 2}, {}, 0, False),
    ],
)
def test_other_requirements_of_a_claim_make_the_answer_uncertain(
    request_: dict[str, Any], more: dict[str, Any], count: int, certain: bool
) -> None:
    devices = {"requests": [{"name": "r", **request_}], **more}
    claim = msgspec.convert({"metadata": {"name": "a"}, "spec": {"devices": devices}}, ResourceClaim)
    (found,) = claim_facts(claim).requests
    assert (found.count, found.certain) == (count, certain)


SLICE: Final = Slice(driver=GPU, pool="n", generation=1, slices=1, node="n", devices=["d0", "d1"], plain=True)


@pytest.mark.parametrize(
    ("listed", "slices", "expected"),
    [
        (EVERYTHING, [SLICE], ([], [])),
        (EVERYTHING - {"resourceclaims"}, [SLICE], ([], [UNKNOWN])),
        (EVERYTHING, [], ([TOO_FEW], [])),
        (EVERYTHING - {"resourceslices"}, [], ([], [UNKNOWN])),
        # Another slice of its pool is not there yet, or is newer.
        (EVERYTHING, [msgspec.structs.replace(SLICE, slices=2)], ([], [UNKNOWN])),
        (EVERYTHING, [SLICE, msgspec.structs.replace(SLICE, generation=2, node="m")], ([], [UNKNOWN])),
    ],
)
def test_devices_count_only_if_their_whole_pool_is_known(
    listed: frozenset[str], slices: list[Slice], expected: tuple[list[str], list[str]]
) -> None:
    claim = DeviceClaim(requests=[Request("r", "gpu", [], 2, certain=True)])
    devices = Devices(listed, {("ns", "a"): claim}, {"gpu": Selection([GPU], certain=True)}, slices)
    (there,) = node_devices(devices, [("n", {})])
    assert device_reasons(device_needs(NAMED, "ns", devices, 36), "n", {}, there) == expected


def test_claims_of_one_pod_do_not_get_the_same_device_twice() -> None:
    claims = {("ns", name): DeviceClaim(requests=[Request("r", "gpu", [], 1, certain=True)]) for name in "ab"}
    both = Constraints(devices=[ClaimedDevices("gpu", "a"), ClaimedDevices("more", "b")])
    one = msgspec.structs.replace(SLICE, devices=["d0"])
    for slices, reasons in (([one], [TOO_FEW]), ([SLICE], [])):
        devices = Devices(EVERYTHING, claims, {"gpu": Selection([GPU], certain=True)}, slices)
        (there,) = node_devices(devices, [("n", {})])
        assert device_reasons(device_needs(both, "ns", devices, 36), "n", {}, there) == (reasons, [])


def test_an_allocated_claim_with_its_maximum_of_pods_takes_no_more() -> None:
    pods = [{"resource": "pods", "name": f"p{index}", "uid": str(index)} for index in range(256)]
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    status = {"allocation": {"nodeSelector": {"nodeSelectorTerms": [term]}}, "reservedFor": pods}
    claim = claim_facts(msgspec.convert({"metadata": {"name": "a"}, "status": status}, ResourceClaim))
    needs = device_needs(NAMED, "ns", Devices(claims={("ns", "a"): claim}), 36)
    assert device_reasons(needs, "n", {}, NodeDevices()) == ([], [UNKNOWN])
    assert device_reasons(needs, "m", {}, NodeDevices()) == ([ELSEWHERE], [])
