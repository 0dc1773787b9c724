"""Programs around the kubelet's own packages: what they answer is what Kubernetes does.

They are built with the modules of the Kubernetes component, so that nothing more is fetched than its programs need.
"""

import json
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from components.cluster.kubernetes import VERSION
from components.programs.cache import ComponentMissing, cache_folder, cached, run_step

HERE: Final = Path(__file__).parent
_ENVIRONMENT: Final = {"GOFLAGS": "-mod=mod -buildvcs=false", "GOPROXY": "off"}


def program(name: str) -> Path:
    """The program of the folder `name`; ComponentMissing where Kubernetes' modules were not fetched before."""
    modules = cache_folder() / f"kubernetes-{VERSION}" / "source"
    if not modules.is_dir():
        raise ComponentMissing(f"Kubernetes {VERSION} is not built: PYTHONPATH=tests python -m components prepare")
    source = (HERE / name / "main.go").read_bytes()

    def build(folder: Path) -> None:
        for file in ("go.mod", "go.sum"):
            (folder / file).write_bytes((modules / file).read_bytes())
        (folder / "main.go").write_bytes(source)
        # A function without a body, which go:linkname takes from Kubernetes, needs a file of assembly beside it.
        (folder / "linked.s").touch()
        command = ["go", "build", "-o", "program", "-ldflags", "-s -w -checklinkname=0", "."]
        run_step(f"oracle {name}: building", command, folder, _ENVIRONMENT)

    return cached(f"oracle-{name}", f"{VERSION}-{sha256(source).hexdigest()[:12]}", build) / "program"


class Oracle:
    """A running program that answers a line of JSON with a line of JSON. Close it."""

    def __init__(self, name: str) -> None:
        self._process = subprocess.Popen(
            [program(name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, question: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the oracle ended with status {self._process.wait(10)}"
        return json.loads(line)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
