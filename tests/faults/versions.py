"""The next version of Leadsman, made of this one: a reducer's state has another shape, a table one column more."""

import shutil
import sys
from pathlib import Path
from typing import Final, NamedTuple

from components.command import COMMAND
from components.pipeline import Pipeline
from components.processes import Process
from paths import LAYERS, ROOT
from sql.schema.migrate import load_migrations

RESHAPED: Final = "kubelet_settings"
"""The table whose state is of another version."""
WIDENED: Final = "node_fit"
"""The table that has the new column."""
LATER: Final = 7
"""Its value in every row of the next version."""


class Edit(NamedTuple):
    file: str
    old: str
    new: str


EDITS: Final = (
    Edit("streams/analytics/kubelet_settings.py", "    last: Kube", "    later: int = 1\n    last: Kube"),
    Edit("streams/analytics/kubelet_settings.py", "return State(row), (row,)", "return State(last=row), (row,)"),
    Edit("streams/analytics/kubelet_settings.py", "version=3,", "version=4,"),
    Edit(
        "streams/fold/findings/nodes.py",
        "    free: int\n    pods: int\n",
        f"    free: int\n    pods: int\n    later: int = {LATER}\n",
    ),
)


def next_version(folder: Path) -> Path:
    """Its code, in `folder`."""
    for layer in LAYERS:
        shutil.copytree(ROOT / layer, folder / layer, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in EDITS:
        text = (folder / edit.file).read_text()
        assert text.count(edit.old) == 1, f"{edit.file} has changed: {edit.old!r}"
        (folder / edit.file).write_text(text.replace(edit.old, edit.new))
    number = load_migrations()[-1].version + 1
    (folder / f"sql/schema/migrations/{number:04d}_add_later.sql").write_text(
        f"ALTER TABLE {WIDENED}\n    ADD COLUMN IF NOT EXISTS later Int64 COMMENT 'Of the next version'\n"
    )
    return folder


def part(pipeline: Pipeline, code: Path, what: str, instance: str, log: Path) -> Process:
    """`leadsman work` or `leadsman land` of the version whose code that is, not started."""
    path = {"PYTHONPATH": str(code)}
    argv = [sys.executable, COMMAND, what]
    return Process(f"{what} {instance}", argv, log, pipeline.environment(what, instance) | path)
