"""`python -m audit LOCK...`: locked versions against today's advisories, by pip-audit and OSV, with their age.

Status 1 if a locked version is known to be vulnerable, 2 where that cannot be judged.
"""

import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Final

from audit.judge import KNOWN, NOT_AUDITED, judged
from waiting import PATIENCE_SECONDS

ADVISORIES: Final = "https://osv-vulnerabilities.storage.googleapis.com/PyPI/all.zip"
"""The advisories of PyPI at OSV; only their time is asked for."""
VULNERABLE: Final = 1


def main(locks: Sequence[str]) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as one:
        one.write("{}=={}\n".format(*KNOWN[:2]))
        one.flush()
        try:
            known = _audited(["--no-deps", "-r", one.name])
            found = _audited(["--require-hashes", *(flag for lock in locks for flag in ("-r", lock))])
            as_of = _renewed()
        except (subprocess.CalledProcessError, urllib.error.URLError, ValueError) as error:
            reason = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
            print(f"audit: NOT AUDITED: {reason}", file=sys.stderr)
            return NOT_AUDITED
    verdict = judged(found, known, as_of, datetime.now(UTC))
    print("\n".join(verdict.lines))
    return verdict.status


def _audited(flags: Sequence[str]) -> Any:
    """pip-audit's JSON. Raises CalledProcessError if it could not ask."""
    program = str(Path(sys.executable).with_name("pip-audit"))
    own = ["--vulnerability-service=osv", "--disable-pip", "--format=json", "--progress-spinner=off"]
    done = subprocess.run([program, *own, *flags], capture_output=True, text=True, check=False)
    if done.returncode not in {0, VULNERABLE} or not done.stdout:
        raise subprocess.CalledProcessError(done.returncode, program, stderr=done.stderr)
    return json.loads(done.stdout)


def _renewed() -> datetime:
    """When the advisories were last renewed."""
    with urllib.request.urlopen(
        urllib.request.Request(ADVISORIES, method="HEAD"), timeout=PATIENCE_SECONDS
    ) as answer:
        return parsedate_to_datetime(answer.headers["Last-Modified"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
