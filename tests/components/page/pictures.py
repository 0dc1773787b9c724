"""`PYTHONPATH=.:tests python -m components.page.pictures [FOLDER]`: takes the pictures that README and docs show.

The page is of the captures in `examples/`, as `make demo` replays them, and of a fleet of 5,000 nodes. With FOLDER,
every page in every state is taken into it instead, light and dark, 1440 and 390 wide. Where pngquant is installed,
they are made small with it.
"""

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from components.command import start, succeeds
from components.page.browser import browse
from components.page.states import STATES, fill_states, served
from paths import LATE_JOINERS, NODE_PRESSURE, ROOT

PICTURES: Final = ROOT / "deploy" / "screenshots"
PORT: Final = 8499
SITE: Final = f"http://127.0.0.1:{PORT}"
PHONE: Final = {"width": 390, "height": 844}
DESK: Final = {"width": 1440, "height": 1100}
_KEPT: Final = {
    "page-fleet-light": ("fleet", "light", DESK),
    "page-fleet-phone-dark": ("fleet", "dark", PHONE),
    "page-numa-fleet-light": ("numa-fleet", "light", DESK),
}
_EVERY: Final = {
    f"{state}-{size['width']}-{scheme}": (state, scheme, size)
    for state in STATES
    for size in ({**DESK, "height": 2600}, {**PHONE, "height": 3400})
    for scheme in ("light", "dark")
}
_TO: Final = "(() => {{ document.querySelector('{0}').scrollIntoView(); return 0 }})()"


def main() -> None:
    """The pictures that are kept, or all."""
    parser = argparse.ArgumentParser(prog="python -m components.page.pictures", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="where to take every page in every state into")
    folder: Path | None = parser.parse_args().folder
    if folder:
        _states(folder, _EVERY)
    else:
        _recordings()
        _states(ROOT / "docs", _KEPT)


def _states(folder: Path, wanted: Mapping[str, tuple[str, str, Mapping[str, int]]]) -> None:
    """A picture of each name: a state, light or dark, and a size."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="leadsman-states-") as made:
        fill_states(Path(made))
        with served(Path(made)) as sites:
            for name, (state, scheme, size) in wanted.items():
                picture = str((folder / f"{name}.png").resolve())
                browse([{"url": sites[state], "scheme": scheme, **size, "picture": picture}])


def _recordings() -> None:
    """Replay, serve, take the pictures of the captures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="leadsman-pictures-") as folder:
        db = Path(folder) / "db"
        succeeds("replay", NODE_PRESSURE, LATE_JOINERS, db=db)
        succeeds("report", "--cluster", "lab", "-o", Path(folder) / "report.html", db=db)
        site = start("serve", "--port", PORT, db=db)
        try:
            assert site.stderr is not None
            site.stderr.readline()
            browse(_steps(Path(folder) / "report.html"))
        finally:
            site.terminate()
            site.wait()
    if shutil.which("pngquant"):
        for picture in sorted(PICTURES.glob("*.png")):
            subprocess.run(["pngquant", "--force", "--skip-if-larger", "--ext", ".png", picture], check=False)  # noqa: S607 - checked above


def _steps(report: Path) -> list[dict[str, Any]]:
    overview, node = f"{SITE}/?cluster=lab", f"{SITE}/node?cluster=lab&node=real-node-1"
    numa = f"{SITE}/node?cluster=late-joiners&node=node-3"
    pictures = {
        "page-light": (overview, "light", DESK, "body"),
        "page-dark": (overview, "dark", DESK, "body"),
        "node-light": (node, "light", DESK, "body"),
        "node-dark": (node, "dark", DESK, "body"),
        "numa-light": (numa, "light", DESK, "#numa"),
        "report-light": (report.as_uri(), "light", DESK, "#node-1"),
        "phone-light": (overview, "light", PHONE, "body"),
        "phone-dark": (node, "dark", PHONE, "#margins"),
        "report-phone-dark": (report.as_uri(), "dark", PHONE, "body"),
    }
    return [
        {
            "url": url,
            "scheme": scheme,
            **size,
            "actions": [["wait", 300], ["read", "at", _TO.format(place)], ["wait", 500]],
            "picture": str(PICTURES / f"{name}.png"),
        }
        for name, (url, scheme, size, place) in pictures.items()
    ]


if __name__ == "__main__":
    main()
