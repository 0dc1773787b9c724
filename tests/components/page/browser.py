"""A real browser for the page: Debian's Chromium, driven by Playwright, with axe for accessibility."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from components.programs.cache import ComponentMissing, cached, run_step, tool
from waiting import PATIENCE_SECONDS

PLAYWRIGHT: Final = "1.65.1"
AXE: Final = "4.14.1"
SCRIPT: Final = Path(__file__).with_name("browse.mjs")
TIMEOUT_SECONDS: Final = 4 * PATIENCE_SECONDS


def browser_modules() -> Path:
    """The folder of the npm packages playwright-core and axe-core; no browser of their own is fetched."""

    def build(folder: Path) -> None:
        packages = [f"playwright-core@{PLAYWRIGHT}", f"axe-core@{AXE}"]
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save"]
        (folder / "package.json").write_text("{}")
        run_step("fetching playwright-core and axe-core", ["npm", "install", *options, *packages], folder)

    return cached("browser", f"playwright-{PLAYWRIGHT}-axe-{AXE}", build) / "node_modules"


def chromium_program() -> Path:
    """Chromium of the machine; where there is none, Debian's is installed, which takes root."""
    found = shutil.which("chromium")
    if found is None:
        _install_chromium()
        found = shutil.which("chromium")
    if found is None:
        raise ComponentMissing("`chromium` is not on PATH after apt-get installed it")
    return Path(found)


def browse(steps: Sequence[Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Opens the page of each step in a browser and does what it asks (`browse.mjs`); what was seen, step by step.

    Pictures go to `folder`.
    """
    asked = {"chromium": str(chromium_program()), "modules": str(browser_modules()), "steps": list(steps)}
    done = subprocess.run(
        [tool("node"), str(SCRIPT)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _install_chromium() -> None:
    if os.geteuid() != 0:
        raise ComponentMissing("`chromium` is not on PATH: install it (Debian: apt-get install chromium)")
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"]
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    folder = Path("/")
    try:
        run_step("installing Debian's chromium", install, folder, quiet)
    except ComponentMissing:
        run_step("apt-get update (the list of packages is missing or old)", ["apt-get", "update", "-q"], folder)
        run_step("installing Debian's chromium", install, folder, quiet)
