"""Text around an object in a file is removed, and nothing else."""

import pytest

from ingest.files.around import without_fences, without_prefixes

EVENT = b'{"kind":"Event","involvedObject":{"kind":"Pod"},"reason":"Evicted"}'
NODE = b'{"kind":"Node","metadata":{"name":"n"}}'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ([b"starting", EVENT, b"watching", EVENT], [EVENT, EVENT]),  # an exporter's log
        ([b"$ kubectl get nodes", NODE, b"$ kubectl get events", EVENT], None),  # a terminal
        ([b"Warning: deprecated", NODE, EVENT], None),
        ([b"$ kubectl get nodes", b"{", b'"kind":"Node"}', EVENT], None),
        ([NODE, EVENT], None),
    ],
)
def test_events_between_lines_of_text_are_taken_alone_only_if_nothing_else_is_there(
    text: list[bytes], left: list[bytes] | None
) -> None:
    whole = b"\n".join(text)
    assert without_prefixes(whole) == (whole if left is None else b"\n".join(left))


FENCED = b"```yaml\nkind: Node\n```\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (b"See:\n" + FENCED, b"kind: Node\n"),
        (b"kind: Node\n```\nkubectl get nodes\n```\n", None),
        (b"kind: Pod\n" + FENCED, None),
        (b"kind: Node\n", None),
    ],
)
def test_yaml_between_fences_is_taken_alone_only_if_none_is_outside(text: bytes, left: bytes | None) -> None:
    assert without_fences(text) == (text if left is None else left)
