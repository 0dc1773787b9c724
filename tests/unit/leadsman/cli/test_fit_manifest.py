"""The manifest of `leadsman fit`, which may be anybody's."""

from io import BytesIO

import pytest

from leadsman.cli.fit import _read
from streams.questions.fit_request import BadFitRequest

TERMS = "".join(f"l{n}: &l{n} [{f'*l{n - 1}, ' * 2 if n else 'x'}]\n" for n in range(20))
"""Each level doubles what it holds."""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TERMS, "too large with its YAML aliases"),
        ("a: &a\n  b: *a\n", "aliases"),
        ("[" * 600 + "]" * 600, "not YAML that can be read: it is nested too deep"),
        ("a: [", "not YAML"),
        ("\xff", "not YAML"),
    ],
)
def test_a_manifest_that_is_a_bomb_or_no_yaml_is_refused_with_a_sentence(text: str, why: str) -> None:
    with pytest.raises(BadFitRequest, match=why):
        _read(BytesIO(text.encode("latin-1")))


def test_equal_requests_and_limits_can_be_written_once() -> None:
    assert _read(BytesIO(b"limits: &id001 {cpu: '26'}\nrequests: *id001\n")) == {
        "limits": {"cpu": "26"},
        "requests": {"cpu": "26"},
    }


def test_the_first_document_is_read_as_kubernetes_reads_it() -> None:
    """An anchor that nothing refers to is none."""
    assert _read(BytesIO(b"kind: &k Pod\nspec: {cpu: 1, at: 1:30, on: [yes]}\n---\nkind: Node\n")) == {
        "kind": "Pod",
        "spec": {"cpu": 1, "at": "1:30", True: [True]},
    }
    assert _read(BytesIO(b"")) is None
