"""A real browser for the page: Debian's Chromium, driven by Playwright, with axe for accessibility."""

import atexit
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Timer
from typing import Any, Final

from components.programs.cache import ComponentMissing, cached, run_step, tool
from components.programs.debian import unpacked
from waiting import PATIENCE_SECONDS

PLAYWRIGHT: Final = "1.65.1"
AXE: Final = "4.14.1"
SCRIPT: Final = Path(__file__).with_name("browse.mjs")
SHELL: Final = "chromium-headless-shell"
"""Chromium without windows of its own, which opens a page in half the time of the processor."""
TIMEOUT_SECONDS: Final = 4 * PATIENCE_SECONDS


def browser_modules() -> Path:
    """The folder of the npm packages playwright-core and axe-core; no browser of their own is fetched."""

    def build(folder: Path) -> None:
        packages = [f"playwright-core@{PLAYWRIGHT}", f"axe-core@{AXE}"]
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save"]
        (folder / "package.json").write_text("{}")
        run_step("fetching playwright-core and axe-core", ["npm", "install", *options, *packages], folder)

    return cached("browser", f"playwright-{PLAYWRIGHT}-axe-{AXE}", build) / "node_modules"


@cache
def chromium_program() -> Path:
    """Debian's Chromium without windows. Where it cannot be had, and for the libraries of both, the machine's own;
    where there is none, Debian's is installed, which takes root.
    """
    whole = _whole_chromium()
    try:
        return unpacked(SHELL, [SHELL, "chromium-common"]) / "usr" / "lib" / "chromium" / SHELL
    except ComponentMissing:
        return whole


def _whole_chromium() -> Path:
    found = shutil.which("chromium")
    if found is None:
        _install_chromium()
        found = shutil.which("chromium")
    if found is None:
        raise ComponentMissing("`chromium` is not on PATH after apt-get installed it")
    return Path(found)


def browse(steps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Opens the page of each step in a browser and does what it asks (`browse.mjs`); what was seen, step by step.

    Each step has a profile of its own; the browser stays for the next call.
    """
    browser = _browser()
    assert browser.stdin is not None
    assert browser.stdout is not None
    in_time = Timer(TIMEOUT_SECONDS, browser.kill)
    in_time.start()
    try:
        print(json.dumps(list(steps)), file=browser.stdin, flush=True)
        line = browser.stdout.readline()
    finally:
        in_time.cancel()
    if not line:
        _browser.cache_clear()
    assert line, "the browser ended"
    reported = json.loads(line)
    assert "error" not in reported, reported["error"]
    found: list[dict[str, Any]] = reported["seen"]
    return found


@cache
def _browser() -> "subprocess.Popen[str]":
    """The browser of this process; it ends when its input does."""
    argv = [tool("node"), str(SCRIPT), str(chromium_program()), str(browser_modules())]
    browser = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(browser.communicate)
    return browser


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
