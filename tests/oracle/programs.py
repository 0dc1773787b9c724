"""A program around Kubernetes' own packages: what it answers is what Kubernetes does.

It is built with the modules of the Kubernetes component, so that nothing more is fetched than that needs.
"""

import json
import subprocess
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from components.cluster.kubernetes import NEWEST
from components.programs.cache import ComponentMissing, cache_folder, cached, run_step

SOURCES: Final = Path(__file__).parent / "kubernetes"
_ENVIRONMENT: Final = {"GOFLAGS": "-mod=mod -buildvcs=false", "GOPROXY": "off"}


def program() -> Path:
    """The program of SOURCES; ComponentMissing where Kubernetes' modules were not fetched before."""
    modules = cache_folder() / f"kubernetes-{NEWEST}" / "source"
    if not modules.is_dir():
        raise ComponentMissing(f"Kubernetes {NEWEST} is not built: PYTHONPATH=tests python -m components prepare")
    sources = {file.name: file.read_bytes() for file in sorted(SOURCES.glob("*.go"))}

    def build(folder: Path) -> None:
        for file in ("go.mod", "go.sum"):
            (folder / file).write_bytes((modules / file).read_bytes())
        for name, source in sources.items():
            (folder / name).write_bytes(source)
        # A function without a body, which go:linkname takes from Kubernetes, needs a file of assembly beside it.
        (folder / "linked.s").touch()
        command = ["go", "build", "-o", "program", "-ldflags", "-s -w -checklinkname=0", "."]
        run_step("oracles: building", command, folder, _ENVIRONMENT)

    version = sha256(b"".join(sources.values())).hexdigest()[:12]
    return cached("oracle", f"{NEWEST}-{version}", build) / "program"


class Oracles:
    """The running program, which answers a line of JSON with a line of JSON. Close it."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        """Number of cases by oracle."""
        self._process = subprocess.Popen(
            [program()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, oracle: str, question: Any) -> Any:
        """Return the answer of the oracle of that name (`oracles` in main.go)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"oracle": oracle, "question": question}) + "\n")
        self._process.stdin.flush()
        self.asked[oracle] += 1
        line = self._process.stdout.readline()
        assert line, f"the program ended with status {self._process.wait(10)}"
        return json.loads(line)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
