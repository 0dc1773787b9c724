"""Nodes as the page has them, for tests of what it makes of them."""

from components.rows import T0
from leadsman.web.reading.nodes import Evicted, NodeLine


def node_line(name: str, **more: object) -> NodeLine:
    """Ready, sampled at T0, with nothing to tell; `more` are other fields."""
    line = NodeLine(
        name=name,
        known=True,
        ready=True,
        unschedulable=False,
        kubelet_version="v1.36.3",
        zone="",
        sampled_at=T0,
        stale=False,
        sample_age="",
        margins=(),
        lowest_room=None,
        fit={},
        evicted=Evicted(),
        pressure=(),
        times_under_pressure=0,
        image_gc="",
        numa=None,
    )
    return line._replace(**more)  # type: ignore[arg-type]  # of any field
