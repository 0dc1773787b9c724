"""Small hostile files are refused in a time that grows with their size."""

import time

import pytest

from ingest.files.sniff import kind_of
from ingest.files.yaml_documents import yaml_parts


@pytest.mark.parametrize("line", ["\n", " \n", "\r\n", "\t\n \n", "# \n", "Warning: x\n", "---\n"])
def test_blank_lines_before_nothing_known_do_not_make_a_search_endless(line: str) -> None:
    """Each blank line once doubled the time, so that thirty took minutes."""
    head = (line * 5000 + "x").encode()
    began = time.process_time()
    assert kind_of(head) is None
    assert time.process_time() - began < 5


def test_a_number_of_base_60_is_text_as_in_kubernetes() -> None:
    """To compute it would take a time that grows with the square of its length."""
    digits = ":".join(["59"] * 20_000)
    began = time.process_time()
    (part,) = yaml_parts(f"apiVersion: v1\nkind: Node\nmetadata: {{name: n, generation: {digits}}}\n".encode())
    assert f'"{digits}"'.encode() in part.raw
    assert time.process_time() - began < 5
