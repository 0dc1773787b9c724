"""The page of odd files: forms in which people hand over dumps, and the first line that Leadsman prints of each."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rich.console import Console

from field.test_odd_files import FORMS, OTHERS, STORES, UNREAD
from ingest.files.inspection import inspect, render
from ingest.files.lines import SourceError
from leadsman.cli.piped import on_disk

PAGE: Final = "docs/odd-files.md"
_HEAD: Final = """# Odd files

`make generate` writes this page from the files in `tests/field/test_odd_files.py`. The first table has the forms of
one dump, and the second the answers of stores of logs. The third has the files that are not read. The line is the
first that `leadsman inspect` prints. `look` and `replay` print the same of a file that is not read, and end with an
error.
"""


def odd_files() -> str:
    """Returns the page; it reads each file once, without a database."""
    return "\n".join(
        (
            _HEAD,
            "## Forms of a dump\n",
            _table(FORMS),
            "## Events in stores of logs\n",
            _table({name: text.encode() for name, text in STORES.items()}),
            "## What is not read\n",
            _table(
                {name: text.encode() for name, (text, _) in UNREAD.items()}
                | {name: json.dumps(found).encode() for name, (found, _) in OTHERS.items()}
            ),
        )
    )


def _table(files: Mapping[str, bytes]) -> str:
    rows = "".join(f"| `{name}` | {_first_line(name, content)} |\n" for name, content in files.items())
    return f"| file | the first line |\n|---|---|\n{rows}"


def _first_line(name: str, content: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_bytes(content)
        try:
            with on_disk([file]) as paths:
                found = inspect(paths)
        except SourceError as error:
            text = f"leadsman: {error}"
        else:
            console = Console(width=1_000, no_color=True)
            with console.capture() as printed:
                console.print(render(found))
            text = printed.get().splitlines()[0]
        return text.replace(f"{folder}/", "").replace("|", "\\|").strip()
