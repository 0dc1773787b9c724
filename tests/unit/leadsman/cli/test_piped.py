"""Archives on the command line: what is unpacked of them, and what never is."""

import gzip
import io
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.files.lines import SourceError
from ingest.files.sniff import head_of, kind_of
from leadsman.cli import piped
from leadsman.cli.piped import files_in_part, on_disk

NODES = b'{"kind": "NodeList", "apiVersion": "v1", "items": []}'


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.mtime = kind, link, 1_700_000_000
    return found


def packed(path: Path, *members: tarfile.TarInfo, content: bytes = NODES) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for each in members:
            each.size = len(content) if each.isfile() else 0
            archive.addfile(each, io.BytesIO(content))
    return path


def unpacked(path: Path) -> tuple[str, dict[str, bytes]]:
    """The folder's name, and its files by name in it."""
    with on_disk([path]) as (folder,):
        assert folder.is_dir()
        files = {str(each.relative_to(folder)): each for each in folder.rglob("*") if not each.is_dir()}
        assert not any(each.is_symlink() for each in files.values())
        assert {each.stat().st_mtime for each in files.values()} <= {1_700_000_000}
        found = {name: each.read_bytes() for name, each in files.items()}
    assert not folder.exists()
    return folder.name, found


@pytest.mark.parametrize("name", ["bundle.tar.gz", "bundle.tgz", "bundle"])
def test_an_archive_is_a_folder_of_what_is_read(tmp_path: Path, name: str) -> None:
    path = packed(tmp_path / name, member("b/cluster-resources/nodes.json"), member("b/pod-logs/huge.log"))
    assert unpacked(path) == ("bundle", {"b/cluster-resources/nodes.json": NODES})


def test_standard_input_can_be_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "bundle.tar.gz", member("nodes.json"))
    with path.open("rb") as file:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        with on_disk([Path("-")]) as (folder,):
            assert [each.name for each in folder.iterdir()] == ["nodes.json"]


def test_nothing_is_written_outside_the_folder_and_no_link_is_followed(tmp_path: Path) -> None:
    path = packed(
        tmp_path / "bundle.tar.gz",
        member("../outside.json"),
        member("a/../../outside.json"),
        member(f"{tmp_path}/outside.json"),
        member("link.json", tarfile.SYMTYPE, "/etc/passwd"),
        member("hard.json", tarfile.LNKTYPE, "/etc/passwd"),
        member("pods", tarfile.SYMTYPE, str(tmp_path)),
        member("pods/inside.json"),
        member("fifo.json", tarfile.FIFOTYPE),
    )
    assert unpacked(path) == ("bundle", {"pods/inside.json": NODES})
    assert not list(tmp_path.glob("**/outside.json"))
    assert [each.name for each in tmp_path.iterdir()] == ["bundle.tar.gz"]


def test_an_archive_that_is_cut_off_is_read_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bundle.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("a.json", "b.json"):
            each = member(name)
            each.size = 5000
            archive.addfile(each, io.BytesIO(NODES.ljust(5000)))
    path.write_bytes(path.read_bytes()[:8000])
    with on_disk([path]) as (folder,):
        sizes = {each.name: each.stat().st_size for each in folder.iterdir()}
    assert sizes["a.json"] == 5000
    assert sizes.get("b.json", 0) < 5000
    assert "read in part" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["bundle.tar.gz", "bundle.zip"])
def test_all_compressed_files_of_an_archive_have_one_allowance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each by itself unpacks to less than is allowed, and all are as small as one when they are packed again."""
    monkeypatch.setattr(piped, "WORK_LIMIT_BYTES", 4 << 20)
    monkeypatch.setattr(piped, "WORK_RATIO", 10)
    path, inner = tmp_path / name, gzip.compress(NODES + b" " * (1 << 20))
    names = [f"{number}.json.gz" for number in range(8)]
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in names:
                archive.writestr(each, inner)
    else:
        packed(path, *map(member, names), content=inner)
    with pytest.raises(SourceError, match="a bomb"), on_disk([path]):
        pytest.fail("it was unpacked")
    packed(path, *map(member, names[:2]), content=inner)
    assert len(unpacked(path)[1]) == 2


def test_a_file_is_unpacked_once(tmp_path: Path) -> None:
    """A layer more is not read: its bytes are no form that is known."""
    path = tmp_path / "nodes.json.gz"
    path.write_bytes(gzip.compress(gzip.compress(NODES)))
    assert kind_of(head_of(path)) is None
    packed(tmp_path / "bundle.tar.gz", member("nodes.json.gz"), content=path.read_bytes())
    with on_disk([tmp_path / "bundle.tar.gz"]) as (folder,):
        assert kind_of(head_of(folder / "nodes.json.gz")) is None


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piped, "WORK_LIMIT_BYTES", 1000)
    path = packed(tmp_path / "bundle.tar.gz", member("a.json"), content=b" " * 10_000_000)
    with pytest.raises(SourceError, match="a bomb"), on_disk([path]):
        pass


def test_members_without_content_and_the_folders_in_their_names_count_as_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped, "WORK_LIMIT_BYTES", 1 << 20)
    monkeypatch.setattr(piped, "WORK_RATIO", 1)
    few = packed(tmp_path / "few.tgz", *(member(f"{number}.json") for number in range(20)), content=b"")
    many = packed(tmp_path / "many.tgz", *(member(f"{number}.json") for number in range(300)), content=b"")
    deep = packed(tmp_path / "deep.tgz", member("/".join("d" * 1500)), content=b"")
    folders = packed(tmp_path / "folders.tgz", *(member(str(number), tarfile.DIRTYPE) for number in range(300)))
    listed = tmp_path / "many.zip"
    with zipfile.ZipFile(listed, "w") as archive:
        for number in range(300):
            archive.writestr(f"{number}.json", b"")
    with on_disk([few]):
        pass
    for path in (many, deep, folders, listed):
        with pytest.raises(SourceError, match="a bomb"), on_disk([path]):
            pass


def headers(*sizes: tuple[bytes, int]) -> bytes:
    """Headers of tar of these types and sizes, without what they announce."""
    found = []
    for kind, size in sizes:
        each = member("x", kind)
        each.size = size
        found.append(each.tobuf(tarfile.GNU_FORMAT))
    return b"".join(found)


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(headers((tarfile.XHDTYPE, 1 << 40)), id="attributes of 1 TiB"),
        pytest.param(headers((tarfile.GNUTYPE_LONGNAME, 1 << 40)), id="a name of 1 TiB"),
        pytest.param(headers((tarfile.XGLTYPE, 1 << 20)), id="attributes of 1 MiB for all members"),
        pytest.param(headers((tarfile.REGTYPE, -512)), id="a size below zero, which leads back"),
        pytest.param(headers((tarfile.DIRTYPE, 1 << 40)), id="a folder of 1 TiB"),
    ],
)
def test_headers_of_a_bomb_are_refused_before_what_they_announce_is_read(tmp_path: Path, hostile: bytes) -> None:
    path = tmp_path / "bundle.tar"
    for before in (b"", headers((tarfile.REGTYPE, 0))):
        path.write_bytes(before + hostile + bytes(1024))
        with pytest.raises(SourceError, match="a bomb"), on_disk([path]):
            pass


def test_names_of_names_without_an_end_are_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bundle.tar"
    named = headers((tarfile.GNUTYPE_LONGNAME, 4)) + b"abc\0".ljust(512, b"\0")
    first = packed(tmp_path / "one.tgz", member("nodes.json"))
    with tarfile.open(first) as archive:
        start = archive.fileobj.read(1024) if archive.fileobj and not archive.fileobj.seek(0) else b""
    path.write_bytes(start + named * 3000 + headers((tarfile.REGTYPE, 0)) + bytes(1024))
    assert unpacked(path)[1] == {"nodes.json": NODES}
    assert "read in part" in capsys.readouterr().err


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda path: path.write_bytes(b"\x1f\x8b\x08 no archive")])
def test_a_file_that_is_not_an_archive_is_left_to_its_reader(tmp_path: Path, make: Callable[[Path], object]) -> None:
    path = tmp_path / "x.tar.gz"
    make(path)
    with on_disk([path, tmp_path / "missing"]) as paths:
        assert paths == [path, tmp_path / "missing"]


def test_files_that_were_read_in_part_are_named_with_how_much_was_bad() -> None:
    counts = Counter({f"f{number}": number for number in range(1, 8)})
    assert files_in_part(counts) == "f7 (7), f6 (6), f5 (5), f4 (4), f3 (3) and 2 more files"
    assert files_in_part(Counter(a=1)) == "a (1)"
