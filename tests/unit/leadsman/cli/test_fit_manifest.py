"""The manifest of `leadsman fit`, which may be anybody's."""

from io import BytesIO

import pytest

from leadsman.cli.fit import _read
from streams.questions.asked import BadQuestion

TERMS = "{terms: [&t {expressions: [&e {values: [&v x, *v]}, *e]}, *t]}"
"""Each level doubles what it holds; with 600 of each, 19 kB took 2 GiB."""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TERMS, "aliases: replace each by what it stands for"),
        ("a: &a\n  b: *a\n", "aliases"),
        ("[" * 600 + "]" * 600, "not YAML"),
        ("a: [", "not YAML"),
        ("\xff", "not YAML"),
    ],
)
def test_a_manifest_that_is_a_bomb_or_no_yaml_is_refused_with_a_sentence(text: str, why: str) -> None:
    with pytest.raises(BadQuestion, match=why):
        _read(BytesIO(text.encode("latin-1")))


def test_the_first_document_is_read_as_kubernetes_reads_it() -> None:
    """An anchor that nothing refers to is none."""
    assert _read(BytesIO(b"kind: &k Pod\nspec: {cpu: 1, at: 1:30, on: [yes]}\n---\nkind: Node\n")) == {
        "kind": "Pod",
        "spec": {"cpu": 1, "at": "1:30", True: [True]},
    }
    assert _read(BytesIO(b"")) is None
