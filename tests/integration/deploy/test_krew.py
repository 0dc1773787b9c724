"""The manifest for krew, as the release fills it in, and the archive that it installs."""

import hashlib
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Final

import yaml

from paths import ROOT

TAG: Final = "v9.8.7"
REPOSITORY: Final = "someone/leadsman"


def _released(folder: Path) -> Path:
    """Return the files that the release's step makes in `dist`."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    (step,) = [each for each in workflow["jobs"]["release"]["steps"] if each.get("name") == "kubectl plugin"]
    shutil.copytree(ROOT / "deploy/krew", folder / "deploy/krew")
    (folder / "dist").mkdir(parents=True)
    (folder / "dist/leadsman-9.8.7-py3-none-any.whl").write_bytes(b"a wheel")
    shutil.copy(ROOT / "LICENSE", folder)
    environment = {"PATH": "/usr/bin:/bin", "TAG": TAG, "NAME": REPOSITORY}
    subprocess.run(["bash", "-euc", step["run"]], cwd=folder, env=environment, check=True)  # noqa: S607
    return folder / "dist"


def test_a_release_s_manifest_has_what_krew_asks_for(tmp_path: Path) -> None:
    """The fields are those of https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest."""
    dist = _released(tmp_path)
    manifest: dict[str, Any] = yaml.safe_load((dist / "leadsman.yaml").read_text())
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert manifest["metadata"] == {"name": "leadsman"}
    spec = manifest["spec"]
    assert re.fullmatch(r"v\d+\.\d+\.\d+", spec["version"])
    assert spec["version"] == TAG
    assert 0 < len(spec["shortDescription"]) <= 50
    assert spec["homepage"] == f"https://github.com/{REPOSITORY}"
    (platform,) = spec["platforms"]
    assert platform["selector"] == {"matchLabels": {"os": "linux"}}
    assert platform["uri"] == f"https://github.com/{REPOSITORY}/releases/download/{TAG}/kubectl-leadsman.tar.gz"
    archive = dist / "kubectl-leadsman.tar.gz"
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    with tarfile.open(archive) as opened:
        members = {each.name: each for each in opened.getmembers()}
    assert members.keys() == {"kubectl-leadsman", "LICENSE", "leadsman-9.8.7-py3-none-any.whl"}
    assert members[platform["bin"]].mode & 0o111


def test_what_krew_installs_runs_the_wheel_beside_it_with_kubectl_s_flags(tmp_path: Path) -> None:
    installed, bin_ = tmp_path / "store", tmp_path / "bin"
    installed.mkdir()
    bin_.mkdir()
    archive = _released(tmp_path / "release") / "kubectl-leadsman.tar.gz"
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", installed], check=True)  # noqa: S607
    (bin_ / "kubectl-leadsman").symlink_to(installed / "kubectl-leadsman")
    asked = [str(bin_ / "kubectl-leadsman"), "--context", "a b"]
    without = subprocess.run(asked, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert (without.returncode, "needs uv" in without.stderr) == (2, True)
    (bin_ / "uvx").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (bin_ / "uvx").chmod(0o755)
    done = subprocess.run(asked, env={"PATH": f"{bin_}:/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "--from",
        f"leadsman[embedded] @ file://{installed.resolve()}/leadsman-9.8.7-py3-none-any.whl",
        "kubectl-leadsman",
        "--context",
        "a b",
    ]
