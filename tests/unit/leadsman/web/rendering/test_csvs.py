"""Tables of the page as files: whole, raw, and harmless to a spreadsheet."""

import csv
import io

from components.node_lines import node_line
from components.rows import T0
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.numa_fleet import numa_fleet
from leadsman.web.rendering import csvs


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_an_alert_is_a_row_that_no_spreadsheet_runs() -> None:
    alert = Alert("PodsEvicted", "critical", "n", True, T0, None, "=cmd()", 'two\nlines, "quoted"', "")  # fmt: skip
    (found,) = rows(csvs.alerts([alert]))
    assert (found["state"], found["starts_at"], found["ends_at"]) == ("firing", "2026-07-01T12:00:00+00:00", "")
    assert (found["summary"], found["description"]) == ("'=cmd()", 'two\\nlines, "quoted"')


def test_each_numa_node_is_a_row_with_raw_numbers() -> None:
    node = node_line("n", numa={"fidelity": "exact", "cpu_manager_policy": "static", "skew_ratio": 0.125})
    given = {"node": "n", "cpus": 8, "reserved": 1, "created_at": T0, "memory_allocatable": 1 << 30}
    bands = [
        {**given, "numa_node": number, "exclusive": 2 + number, "free": 5 - number, "memory_available": None}
        for number in (0, 1)
    ]
    first, second = rows(csvs.numa_nodes(numa_fleet([node], bands, None)))
    assert (first["numa_node"], first["exclusive"], first["free"], first["late"]) == ("0", "2", "5", "0")
    assert (second["memory_allocatable_bytes"], second["memory_available_bytes"]) == (str(1 << 30), "")
    assert (second["skew_ratio"], second["fidelity"]) == ("0.125", "exact")
