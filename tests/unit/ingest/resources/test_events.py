"""The node that an Event concerns."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from components.captures import about_pod
from ingest.model.objects.event import Event
from ingest.resources.events import event_node

KUBELET = {"component": "kubelet", "host": "n"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"involvedObject": {"kind": "Node", "name": "n", "uid": "n"}, "source": {}}, "n"),
        ({"regarding": {"kind": "Node", "name": "n"}, "deprecatedSource": {}}, "n"),
        ({"involvedObject": {"kind": "Node", "name": "n"}, "source": {"component": "node-controller"}}, "n"),
        ({"involvedObject": about_pod("p"), "source": KUBELET}, "n"),
        ({"regarding": about_pod("p"), "deprecatedSource": KUBELET}, "n"),
        (
            {
                "involvedObject": about_pod("p"),
                "source": {},
                "reportingComponent": "kubelet",
                "reportingInstance": "n",
            },
            "n",
        ),
        ({"regarding": about_pod("p"), "reportingController": "kubelet", "reportingInstance": "n"}, "n"),
        ({"regarding": about_pod("p"), "reportingController": "default-scheduler", "reportingInstance": "s-0"}, ""),
        ({"involvedObject": about_pod("p"), "source": {"component": "deployment-controller"}}, ""),
        ({}, ""),
    ],
)
def test_an_event_concerns_the_node_that_it_is_about_or_whose_kubelet_reported_it(
    fields: Mapping[str, Any], expected: str
) -> None:
    reported = msgspec.json.decode(json.dumps({"metadata": {"name": "e"}, **fields}), type=Event)
    assert event_node(reported) == expected
