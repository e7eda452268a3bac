"""Writing files: the old one stays whole, whatever happens."""

import errno
import os
import resource
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import bochner
import zoo
from bochner import methods
from bochner.export import persistence as files


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork
def test_a_kill_in_mid_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.bochner"
    X = zoo.rows("dense-float64")
    large = methods.rff(200_000, random_state=1).fit(X)
    bochner.save(large, path)
    new = path.read_bytes()
    bochner.save(methods.rff(16, random_state=0).fit(X), path)
    old, kept = path.read_bytes(), 0
    for _ in range(5):
        path.write_bytes(old)
        process = os.fork()
        if not process:
            bochner.save(large, path)
            os._exit(0)
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob(".bochner-*")):
            assert time.monotonic() < deadline
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        assert path.read_bytes() in (old, new)
        kept += path.read_bytes() == old
    assert kept
    bochner.save(large, path)
    assert list(tmp_path.iterdir()) == [path], "leftovers are removed"
    assert path.read_bytes() == new


def test_a_failed_save_leaves_the_old_file(saved, tmp_path, monkeypatch):
    path = tmp_path / "model.bochner"
    path.write_bytes(saved.read_bytes())
    model = bochner.load(path)

    def full(file, document, arrays):
        file.write(b"half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_archive", full)
    with pytest.raises(OSError, match=r"the disk is full\. The old file is as it was"):
        bochner.save(model, path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == saved.read_bytes()

    def locked(file, document, arrays):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(files, "write_archive", locked)
    with pytest.raises(
        PermissionError, match=r"may not write there\. Nothing was left"
    ):
        bochner.save(model, tmp_path / "new.bochner")


def test_paths_that_cannot_be_written_or_read(saved, tmp_path, monkeypatch):
    model = bochner.load(saved)
    for path, error, match in (
        (tmp_path / "none" / "a", FileNotFoundError, "there is no folder .*; make it"),
        (tmp_path, IsADirectoryError, "is a folder; name a file"),
        (f"{tmp_path}/a/", ValueError, "path must name a file"),
        ("", ValueError, "path must name a file"),
        (3, TypeError, "path must be the name of a file, text or a Path; got int"),
        (None, TypeError, "got NoneType"),
        (tmp_path / ("a" * 300), OSError, "the name is too long"),
    ):
        with pytest.raises(error, match=f"save: .*{match}"):
            bochner.save(model, path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a plain file; name another"):
        bochner.save(model, tmp_path / "pipe")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    with pytest.raises(OSError, match="cannot be written"):
        bochner.save(model, tmp_path / "round")
    with pytest.raises(FileNotFoundError, match=r"load: .* No such file"):
        bochner.load(tmp_path / "none.bochner")
    with pytest.raises(IsADirectoryError, match=r"load: .* Is a directory"):
        bochner.load(tmp_path)
    with pytest.raises(TypeError, match="load: path must be the name of a file"):
        bochner.load(3)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("~/a**[b].bochner", b"bytes", "n" * 250):
        monkeypatch.chdir(tmp_path)
        bochner.save(model, name)
        assert bochner.load(name).n_features_in_ == 20
    assert (tmp_path / "a**[b].bochner").exists()


def test_permissions_and_other_files_stay(saved, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o600)
    others = [".model.2024.01", ".model.notes.99999999.txt", ".bochner-1-2-3-4.tmp"]
    for other in others:
        (tmp_path / other).write_text("mine")
    bochner.save(bochner.load(saved), path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert {p.name for p in tmp_path.iterdir()} == {"model", *others}


def test_threads_may_save_to_one_path(saved, tmp_path):
    model, path = bochner.load(saved), tmp_path / "model.bochner"
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: bochner.save(model, path), range(30)))
    assert path.read_bytes() == saved.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_links_are_followed(saved, tmp_path):
    target, link = tmp_path / "target.bochner", tmp_path / "link.bochner"
    target.write_bytes(b"old")
    link.symlink_to(target)
    bochner.save(bochner.load(saved), link)
    assert link.is_symlink() and target.read_bytes() == saved.read_bytes()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # fork
def test_a_disk_that_takes_no_more(saved, tmp_path):
    """The system itself refuses to write, in a process that may write 10 kB."""
    path = tmp_path / "model.bochner"
    path.write_bytes(saved.read_bytes())
    large = methods.rff(2000, random_state=0).fit(zoo.rows("dense-float64"))
    process = os.fork()
    if not process:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        try:
            bochner.save(large, path)
        except OSError as error:
            said = "cannot be written: File too large. The old file is as it was"
            os._exit(0 if said in str(error) else 1)
        os._exit(2)
    assert os.waitpid(process, 0)[1] == 0
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == saved.read_bytes()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_ours(saved, tmp_path):
    model = bochner.load(saved)
    (tmp_path / "mine.bochner").write_bytes(b"old")
    (tmp_path / "mine.bochner").chmod(0o444)
    with pytest.raises(PermissionError, match="write-protected; name another"):
        bochner.save(model, tmp_path / "mine.bochner")
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError, match="you may not write there"):
        bochner.save(model, tmp_path / "new.bochner")
    tmp_path.chmod(0o755)
