"""Progress of reading files."""

import io

import pytest

from ingest.files.progress import LINE_EVERY_SECONDS, progress_bar, progress_line

MIB = 1024 * 1024


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_line_says_rate_and_time_left() -> None:
    # 10 MiB in 5 s are 2 MiB/s, and the other 30 MiB take 15 s
    assert (
        progress_line(10 * MIB, 40 * MIB, 1234, 5.0)
        == "read 10.0 of 40.0 MiB (25%), 1,234 observations, 2.0 MiB/s, 15 s left"
    )


def test_line_of_a_pipe_says_what_can_be_known() -> None:
    assert progress_line(10 * MIB, 0, 7, 5.0) == "read 10.0 MiB, 7 observations, 2.0 MiB/s"


@pytest.mark.parametrize(("read", "total", "seconds"), [(0, 0, 0.0), (0, MIB, 0.0), (2 * MIB, MIB, 1.0)])
def test_line_is_sane_at_the_beginning_and_for_a_file_that_grows(read: int, total: int, seconds: float) -> None:
    line = progress_line(read, total, 0, seconds)
    assert "-" not in line
    assert "200%" not in line


def test_line_says_what_goes_on_when_all_is_read() -> None:
    assert progress_line(40 * MIB, 40 * MIB, 12_000, 5.0) == "read 40.0 MiB, 12,000 observations; analysing"
    assert progress_line(0, 0, 0, 12.0) == "reading"


def test_the_end_of_long_reading_is_reported_at_once() -> None:
    stream, clock = io.StringIO(), Clock()
    with progress_bar(stream=stream, now=clock) as progress:
        for second in (10, 12, 13):
            clock.seconds = float(second)
            progress(min(second, 12) * MIB, 12 * MIB, second)
    assert stream.getvalue().splitlines() == [
        "read 10.0 of 12.0 MiB (83%), 10 observations, 1.0 MiB/s, 2 s left",
        "read 12.0 MiB, 12 observations; analysing",
    ]


def test_the_bar_says_what_goes_on_when_all_is_read() -> None:
    stream = Terminal()
    with progress_bar(stream=stream) as progress:
        progress(MIB, MIB, 5)
    assert "analysing" in stream.getvalue()
    assert "100%" not in stream.getvalue()


def test_without_a_terminal_there_is_a_line_now_and_then() -> None:
    stream, clock = io.StringIO(), Clock()
    with progress_bar(stream=stream, now=clock) as progress:
        for second in range(26):
            clock.seconds = float(second)
            progress(second * MIB, 100 * MIB, second)
    assert LINE_EVERY_SECONDS == 10
    assert stream.getvalue().splitlines() == [
        "read 10.0 of 100.0 MiB (10%), 10 observations, 1.0 MiB/s, 90 s left",
        "read 20.0 of 100.0 MiB (20%), 20 observations, 1.0 MiB/s, 80 s left",
    ]


def test_short_work_without_a_terminal_says_nothing() -> None:
    stream = io.StringIO()
    with progress_bar(stream=stream, now=Clock()) as progress:
        progress(MIB, MIB, 5)
    assert stream.getvalue() == ""


def test_on_a_terminal_there_is_a_bar_with_the_observations() -> None:
    stream = Terminal()
    with progress_bar(stream=stream) as progress:
        progress(MIB, 2 * MIB, 4321)
    shown = stream.getvalue()
    assert "4321 observations" in shown
    assert "50%" in shown


def test_quiet_is_quiet() -> None:
    stream = Terminal()
    with progress_bar(quiet=True, stream=stream) as progress:
        progress(MIB, 2 * MIB, 4321)
    assert stream.getvalue() == ""


def test_default_is_stderr_and_never_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with progress_bar(now=clock) as progress:
        clock.seconds = 60.0
        progress(MIB, 2 * MIB, 1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("read 1.0 of 2.0 MiB")
