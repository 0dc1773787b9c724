"""Rows and parts that `kubectl get -o jsonpath` prints, by the expression in its command (rules: pasted-text)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.files.texts.templates import part_of, put, rows_of
from ingest.files.unread import CUT_OFF

NAMES = '{range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}'
CONDITIONS = "{range .items[*]}{@.metadata.name}:{range @.status.conditions[*]}{@.type}={@.status};{end}{end}"


def rows(expression: str, text: str) -> list[dict[str, Any]]:
    return list(rows_of(expression, text.splitlines()))


@pytest.mark.parametrize("blank", ["\t", "  ", " "])
def test_a_tab_may_have_become_other_blanks(blank: str) -> None:
    assert rows(NAMES, f"a{blank}Running\n") == [{"metadata": {"name": "a"}, "status": {"phase": "Running"}}]


def test_a_name_alone_is_a_row_only_beside_a_fuller_one() -> None:
    assert [each["metadata"]["name"] for each in rows(NAMES, "a\tRunning\nb\n")] == ["a", "b"]
    assert rows(NAMES, "hello\n\nThat is all of it.\n") == []


def test_items_of_an_inner_list_may_all_be_on_one_line() -> None:
    """Kubernetes' own documentation has this expression."""
    found = rows(CONDITIONS, "a:DiskPressure=True;Ready=True;b:Ready=False;")
    assert [(each["metadata"]["name"], each["status"]["conditions"]) for each in found] == [
        ("a", [{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": "True"}]),
        ("b", [{"type": "Ready", "status": "False"}]),
    ]


def test_a_list_of_each_field_is_not_rows() -> None:
    assert rows("{.items[*].metadata.name} {.items[*].status.phase}", "a b Running Running") == []
    assert rows("{.items[*].metadata.name}", "a b") == []


def test_one_path_is_a_part_of_its_object_as_json_or_text() -> None:
    assert part_of("{.status.allocatable}", ['{"cpu":"4"}', "$ exit"]) == {"status": {"allocatable": {"cpu": "4"}}}
    assert part_of("{.status.reason}", ["Evicted"]) == {"status": {"reason": "Evicted"}}
    assert part_of("{.status.reason}{.status.phase}", ["Evicted"]) is None


ITEM = '{{"type": "{}",\n "status": "True"}}'
DISK = {"type": "DiskPressure", "status": "True"}


@pytest.mark.parametrize(
    "tail", ["[INFO] then the pods...", '{"type": ...}', '"no space left', "then more", ITEM[:9]]
)
@pytest.mark.parametrize("path", ["status.conditions", "status"])
def test_text_behind_a_whole_value_is_not_of_it(path: str, tail: str) -> None:
    """Only a command that ends in `[]` prints several values."""
    value = f"[{ITEM.format('DiskPressure')}]"
    value = value if path == "status.conditions" else f'{{"conditions": {value}}}'
    assert part_of(f"{{.{path}}}", [*value.splitlines(), tail]) == {"status": {"conditions": [DISK]}}


@pytest.mark.parametrize("path", ["status.conditions[]", "status.conditions[*]"])
@pytest.mark.parametrize(
    ("tail", "is_cut"),
    [
        ("", False),
        ("[INFO] then the pods...", False),
        ('{"type": ...}', True),
        ('{"type": "PIDPressure",\n "sta', True),
    ],
)
def test_items_before_one_that_was_cut_off_count(path: str, tail: str, is_cut: bool) -> None:
    lines = [*ITEM.format("DiskPressure").splitlines(), *tail.splitlines()]
    expected = {"status": {"conditions": [DISK]}} | ({CUT_OFF: True} if is_cut else {})
    assert part_of(f"{{.{path}}}", lines) == expected


@pytest.mark.parametrize("path", ["status.conditions[]", "status.conditions", "status"])
def test_of_a_value_that_was_cut_off_nothing_is_known(path: str) -> None:
    assert part_of(f"{{.{path}}}", ['{"type": "DiskPressure",', '"status": "Tr']) == {CUT_OFF: True}


def test_paths_select_items_by_filter_number_or_word() -> None:
    fields: dict[str, Any] = {}
    put(fields, 'status.conditions[?(@.type=="Ready")].status', "True")
    put(fields, "status.containerStatuses[*].restartCount", "0,3")
    put(fields, "status.containerStatuses[1].name", "b")
    put(fields, "status.allocatable['nvidia.com/gpu']", "2")
    assert fields["status"] == {
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"restartCount": "0"}, {"restartCount": "3", "name": "b"}],
        "allocatable": {"nvidia.com/gpu": "2"},
    }


@given(st.text("{}[].*@rangeditmsu:;=\"'\\nt \t\n", max_size=80), st.text('ab:;=\t\n {}[]"', max_size=80))
def test_no_expression_and_no_text_raises(expression: str, text: str) -> None:
    for each in (*rows(expression, text), *rows(f"{CONDITIONS}{expression}", text)):
        assert isinstance(each, dict)
    part_of(expression, [text])


STATES = (
    '{range .items[*]}{.metadata.name}{"\\t"}{.spec.unschedulable}{"\\t"}'
    '{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
)


def test_an_empty_value_between_tabs_is_empty_and_between_other_blanks_costs_the_row() -> None:
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    cordoned = {"metadata": {"name": "b"}, "spec": {"unschedulable": "true"}, "status": ready}
    assert rows(STATES, "a\t\tTrue\nb\ttrue\tTrue\n") == [{"metadata": {"name": "a"}, "status": ready}, cordoned]
    assert rows(STATES, "a   True\nb  true  True\nc  true\n") == [cordoned]


def test_text_that_no_value_can_be_is_no_row() -> None:
    taints = '{range .items[*]}{.metadata.name}{"\\t"}{.spec.taints}{"\\n"}{end}'
    text = "a\t[map[effect:NoSchedule key:b]]\n$ df -h\ntmpfs  1.6G  /run\n"
    assert [each["metadata"]["name"] for each in rows(taints, text)] == ["a"]
    assert [each["metadata"]["name"] for each in rows(taints, text.replace("$ df -h\n", ""))] == ["a"]
    assert rows(STATES, "a  no  True\n") == []


def test_an_amount_is_not_cut_to_a_number() -> None:
    assert part_of("{.status.allocatable.memory}", ["7840900Ki"]) == {
        "status": {"allocatable": {"memory": "7840900Ki"}}
    }


def test_the_types_of_one_status_are_an_item_each() -> None:
    fields: dict[str, Any] = {}
    put(fields, 'status.conditions[?(@.status=="True")].type', "DiskPressure,Ready")
    assert [each["type"] for each in fields["status"]["conditions"]] == ["DiskPressure", "Ready"]
