"""`.ci/commits` refuses the subjects that `docs/contributing.md#commits` forbids."""

import subprocess
from pathlib import Path

import pytest

from paths import ROOT


def checked(folder: Path, subject: str) -> subprocess.CompletedProcess[str]:
    """Run the check over one commit with that subject."""

    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)  # noqa: S607

    git("init", "--quiet")
    git("commit", "--allow-empty", "--quiet", "--message", "Begin")
    git(
        "commit",
        "--allow-empty",
        "--quiet",
        "--message",
        f"{subject}\n\nA body may be as long as its reason is, longer than 72 characters.",
    )
    return subprocess.run(
        [ROOT / ".ci/commits", "HEAD~1..HEAD"], cwd=folder, check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "subject", ["Stop a watcher whose Lease is lost", "Bring back the page", "Need one token", "A" * 72]
)
def test_an_imperative_subject_of_72_characters_passes(tmp_path: Path, subject: str) -> None:
    done = checked(tmp_path, subject)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("A" * 73, "longer than 72 characters"),
        ("Stop a watcher.", "full stop"),
        ("stop a watcher", "capital"),
        ("Stopped a watcher", "imperative"),
        ("Stopping a watcher", "imperative"),
    ],
)
def test_another_subject_is_refused_with_its_reason(tmp_path: Path, subject: str, reason: str) -> None:
    done = checked(tmp_path, subject)
    assert done.returncode == 1
    assert subject in done.stdout
    assert reason in done.stdout
