"""Links of a card lead to the page of its node, or to the part of a report that a reader has."""

from datetime import timedelta

from components.rows import T0
from leadsman.web.reading.alerts import Alert, group_alerts
from leadsman.web.rendering.links import Links, ReportLinks


def test_a_card_about_one_node_leads_to_its_page() -> None:
    links = Links()
    assert links.about("nodes", ["n 1"]) == "/node?node=n+1#margins"
    assert links.about("image-gc", ["n"]) == "/node?node=n#image-gc"
    assert links.about("nodes", ["n", "m"]) == "#nodes"
    assert links.about("scheduler", ["n"]) == "#scheduler"
    assert Links(node="n").about("nodes", ["n"]) == "#margins"


def test_a_card_of_a_report_leads_to_its_part_of_the_file() -> None:
    links = ReportLinks(["a", "b"])
    assert links.about("nodes", ["b"]) == "#node-2-margins"
    assert links.about("image-gc", ["b"]) == "#node-2"
    assert links.about("nodes", ["elsewhere"]) == "#nodes"
    assert links.answer("next_eviction", ["elsewhere", "a"]) == "#node-1-order"
    assert links.answer("next_eviction", ["elsewhere"]) == "#nodes"
    assert links.answer("events", ["a"]) == "#timeline"


def test_alerts_of_one_name_and_resource_are_one_line_the_latest_first() -> None:
    def fired(node: str, minute: int, resource: str = "memory", *, firing: bool = True) -> Alert:
        at = T0 + timedelta(minutes=minute)
        ended = None if firing else at
        return Alert("Near", "critical", node, firing, at, ended, "", "", "", resource=resource)

    found = group_alerts([fired("a", 1), fired("b", 3), fired("c", 2, "disk"), fired("d", 0, firing=False)])
    assert [[each.node for each in group] for group in found] == [["b", "a"], ["c"], ["d"]]
