"""Programs built from Go modules.

`go install` refuses a module with replace directives, so a small module of our own asks for its programs.
"""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from components.programs.cache import ComponentMissing, run_step, tool

GO: Final[Mapping[str, str]] = {"GOFLAGS": "-mod=mod -buildvcs=false"}

LANGUAGE: Final = re.compile(r"^go \S+$", re.MULTILINE)
STAGED: Final = re.compile(r"^\s*(\S+) => \./staging/src/", re.MULTILINE)
"""A module that Kubernetes keeps in its own tree and publishes beside it, in the replace block of its go.mod."""


def build_programs(module: str, version: str, packages: Sequence[str], folder: Path, ldflags: str = "-s -w") -> None:
    """Build `packages` (paths inside `module`) into `folder/bin`.

    Where the module replaces modules by folders of its own tree, their published version of the same minor and patch
    is taken (`v1.36.3` is `v0.36.3` there). ComponentMissing says what failed.
    """
    source = folder / "source"
    source.mkdir()
    (source / "go.mod").write_text(_go_mod(module, version, source))
    imports = "".join(f'\t_ "{module}/{package}"\n' for package in packages)
    (source / "tools.go").write_text(f"//go:build tools\n\npackage tools\n\nimport (\n{imports})\n")
    run_step(f"{module} {version}: resolving its modules", ["go", "mod", "tidy"], source, GO)
    (folder / "bin").mkdir()
    for package in packages:
        name = package.rsplit("/", 1)[-1]
        build = ["go", "build", "-o", f"{folder}/bin/", "-ldflags", ldflags, f"{module}/{package}"]
        run_step(f"{module} {version}: building {name}", build, source, GO)


def _go_mod(module: str, version: str, source: Path) -> str:
    published = _published_go_mod(module, version, source)
    language = LANGUAGE.findall(published)  # without it `go mod tidy` walks the unpruned graph, for minutes
    lines = ["module leadsman.example/components", "", *language, "", f"require {module} {version}", ""]
    lines += [f"replace {name} => {name} v0{version.removeprefix('v1')}" for name in STAGED.findall(published)]
    return "\n".join(lines) + "\n"


def _published_go_mod(module: str, version: str, folder: Path) -> str:
    command = [tool("go"), "mod", "download", "-json", f"{module}@{version}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ComponentMissing(f"{module} {version} cannot be fetched: {done.stderr}{done.stdout}")
    return Path(json.loads(done.stdout)["GoMod"]).read_text()


def install_program(package: str, version: str, folder: Path) -> None:
    """Build the program `package` of a module without replace directives into `folder/bin`, as `go install` does."""
    run_step(
        f"building {package} {version}", ["go", "install", f"{package}@{version}"], folder, {"GOBIN": f"{folder}/bin"}
    )
