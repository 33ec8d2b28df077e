"""A machine that refuses: failing system calls, full and read-only disks, another user, sudden death.

Each test runs a small program of its own, because the fault holds for the whole process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import mdmem

PACKAGE = Path(mdmem.__file__).parent.parent

CREATE = "write.create(root, 'x.md', b'new', private=False)"
REPLACE = "write.replace(root, 'x.md', b'new', expected=b'old')"
REMOVE = "write.remove(root, 'x.md', expected=b'old')"
ACTS = {"create": CREATE, "replace": REPLACE, "remove": REMOVE}


def needs(*tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")


def program(root: Path, act: str) -> list[str]:
    """A program that does `act` and prints what came of it: the class, place, words and hint of an error, or 'done'."""
    text = f"""
    import os, sys
    from pathlib import Path
    if os.environ.get("COVERAGE_PROCESS_START"):
        import coverage
        coverage.process_startup()
    sys.path.insert(0, {str(PACKAGE)!r})
    from mdmem.errors import MdmemError
    from mdmem import files
    from mdmem.files import write
    root = Path({str(root)!r})
    try:
        got = {act}
        print("done", got)
    except MdmemError as error:
        print(type(error).__name__, error.exit_code, error, "|", error.hint)
    """
    return [sys.executable, "-I", "-B", "-c", textwrap.dedent(text)]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def injected(
    root: Path, act: str, call: str, fault: str, when: str = "1", only: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run with `fault` at the `when`-th such call (of those on `only`)."""
    needs("strace")
    trace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={when}"]
    trace += ["-P", str(only)] if only else []
    done = run([*trace, *program(root, act)])
    if "not permitted" in done.stderr or "ptrace" in done.stderr:
        pytest.skip("needs strace with ptrace allowed")
    return done


@pytest.fixture
def root(tmp_path) -> Path:
    folder = tmp_path / "scope"
    folder.mkdir()
    (folder / "x.md").write_bytes(b"old")
    return folder


def names(root: Path) -> list[str]:
    return sorted(os.listdir(root))


@pytest.mark.parametrize(
    ("act", "call", "when", "error"),
    [
        ("create", "fsync", "1", "EIO"),  # the new bytes
        ("create", "linkat", "1", "ENOSPC"),
        ("replace", "write", "1", "EDQUOT"),
        ("replace", "fsync", "1", "ENOSPC"),  # the new bytes
        ("replace", "fsync", "2", "EIO"),  # their mode and owner
        ("replace", "fchmod", "1", "EPERM"),
        ("replace", "flistxattr", "1", "EIO"),
        ("replace", "renameat,renameat2,rename", "1", "EIO"),
        ("remove", "unlinkat", "1", "EIO"),
    ],
)
def test_e8_a_failure_on_the_way_is_said_and_the_old_bytes_stay(
    root, act: str, call: str, when: str, error: str
) -> None:
    if act == "create":
        (root / "x.md").unlink()
    before = {name: (root / name).read_bytes() for name in names(root)}
    done = injected(root, ACTS[act], call, f"error={error}", when)

    known = {"EIO": "input/output error", "ENOSPC": "disk is full", "EDQUOT": "quota", "EPERM": "not permitted"}
    assert done.stdout.startswith("MachineError 6 x.md: could not be written: "), done.stdout + done.stderr
    assert known[error] in done.stdout
    assert {name: (root / name).read_bytes() for name in names(root)} == before


@pytest.mark.parametrize(("act", "when"), [("create", "2"), ("replace", "3"), ("remove", "1")])
def test_e8_nothing_is_called_saved_before_the_folder_is_synced(root, act: str, when: str) -> None:
    if act == "create":
        (root / "x.md").unlink()
    done = injected(root, ACTS[act], "fsync", "error=EIO", when)

    assert done.stdout.startswith("MachineError 6 x.md: could not be written"), done.stdout + done.stderr
    assert [name for name in names(root) if name.startswith(".")] == []


def test_a_folder_that_cannot_be_synced_by_its_kind_is_no_failure(root) -> None:
    assert injected(root, REPLACE, "fsync", "error=EINVAL", "3").stdout == "done True\n"


def test_a_disk_without_hard_links_takes_new_files_too(root) -> None:
    (root / "x.md").unlink()

    assert injected(root, CREATE, "linkat", "error=EPERM").stdout == "done None\n"
    assert (root / "x.md").read_bytes() == b"new"
    assert names(root) == ["x.md"]
    again = injected(root, CREATE, "linkat", "error=EPERM")
    assert again.stdout.startswith("RefusedError 4 x.md: there is a file of this name already")
    assert names(root) == ["x.md"]


def test_without_hard_links_a_failed_rename_leaves_no_empty_file(root) -> None:
    (root / "x.md").unlink()
    needs("strace")
    trace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=linkat,renameat,renameat2"]
    trace += ["-e", "inject=linkat:error=EPERM:when=1+", "-e", "inject=renameat,renameat2:error=EIO:when=1"]
    done = run([*trace, *program(root, CREATE)])

    assert done.stdout.startswith("MachineError 6 x.md: "), done.stdout + done.stderr
    assert names(root) == []


def test_a_disk_without_extended_attributes_is_written_to(root) -> None:
    assert injected(root, REPLACE, "flistxattr", "error=EOPNOTSUPP").stdout == "done True\n"


def test_a_lock_that_fails_for_another_reason_is_said(root) -> None:
    assert injected(root, REPLACE, "flock", "error=EIO").stdout.startswith("MachineError 6 x.md: ")


def test_a_disk_without_folder_locks_is_written_to(root) -> None:
    assert injected(root, REPLACE, "flock", "error=EBADF").stdout == "done True\n"


@pytest.mark.parametrize(
    ("act", "call", "when", "after"),
    [
        ("create", "fsync", "1", None),
        ("create", "linkat", "1", None),
        ("create", "unlinkat,unlink", "1", b"new"),
        ("replace", "fsync", "1", b"old"),
        ("replace", "renameat,renameat2", "1", b"old"),
        ("replace", "fsync", "3", b"new"),
        ("remove", "unlinkat,unlink", "1", b"old"),
    ],
)
def test_f1_killed_at_any_point_the_file_is_whole_and_the_leftover_no_memory(root, act, call, when, after) -> None:
    if act == "create":
        (root / "x.md").unlink()
    done = injected(root, ACTS[act], call, "signal=SIGKILL", when)

    assert done.stdout == ""
    # strace delivers the signal after the call: linkat, rename and unlink have then been made.
    path = root / "x.md"
    held = path.read_bytes() if path.exists() else None
    assert held in {after, b"new" if act != "remove" else None}
    shown = run(
        program(root, "[found.rel for found in files.scan(root).found], write.sweep(root, older_than_s=-60)")
    ).stdout
    assert shown.startswith(f"done ({['x.md'] if held is not None else []}, ")
    assert [name for name in names(root) if name.startswith(".")] == []


def test_e8_a_disk_error_while_reading_is_a_problem_and_not_a_removal(root) -> None:
    done = injected(root, "files.read(root, 'x.md')", "pread64", "error=EIO", "1", only=root / "x.md")

    assert done.stdout.startswith("done Problem(path='x.md', line=None, code='unreadable'"), done.stdout + done.stderr
    assert "Input/output error" in done.stdout


def test_e8_a_disk_error_while_comparing_leaves_the_file_alone(root) -> None:
    done = injected(root, REPLACE, "pread64", "error=EIO", "1", only=root / "x.md")

    assert done.stdout.startswith("MachineError 6 x.md: could not be written: the disk reported"), done.stderr
    assert (root / "x.md").read_bytes() == b"old"


def test_without_a_table_of_mounts_nothing_is_known(root) -> None:
    table = Path("/proc/self/mountinfo")
    done = injected(root, "files.file_system(root)", "openat", "error=ENOENT", "1", only=table)

    assert done.stdout == "done ('', False)\n", done.stderr


def test_e8_a_folder_listing_that_breaks_off_keeps_what_it_did_not_show(root) -> None:
    (root / "a").mkdir()
    act = "[(s.unreadable, [p.code for p in s.problems]) for s in [files.scan(root)]]"
    done = injected(root, act, "getdents64", "error=EIO", "1", only=root / "a")

    assert done.stdout == "done [(frozenset({'a'}), ['unreadable'])]\n", done.stdout + done.stderr


NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def in_namespace(setup: str, command: list[str]) -> subprocess.CompletedProcess[str]:
    needs("unshare", "mount")
    if run([*NAMESPACE, "true"]).returncode:
        pytest.skip("needs unshare with user and mount namespaces")
    return run([*NAMESPACE, "sh", "-ec", f'{setup}\n"$@"', "sh", *command])


FILL = """
    write.create(root, 'MEMORY.md', b'old', private=False)
    big = b'x' * 200_000
    for act in (lambda: write.create(root, 'big.md', big, private=False),
                lambda: write.replace(root, 'MEMORY.md', big, expected=b'old')):
        try:
            act()
        except MdmemError as error:
            print(error, '|', error.hint)
    print(sorted(p.name for p in root.iterdir()), (root / 'MEMORY.md').read_bytes())
    write.replace(root, 'MEMORY.md', b'space is back', expected=b'old')
    print((root / 'MEMORY.md').read_bytes())
"""


def test_e7_on_a_full_disk_old_bytes_stay_and_writing_recovers(root) -> None:
    command = program(root, "None")
    command[-1] += textwrap.dedent(FILL)
    done = in_namespace(f"mount -t tmpfs -o size=64k none '{root}'", command)

    full = "could not be written: the disk is full | free some space and try again"
    assert done.stdout.splitlines() == [
        "done None",
        f"big.md: {full}",
        f"MEMORY.md: {full}",
        "['MEMORY.md'] b'old'",
        "b'space is back'",
    ], done.stderr


@pytest.mark.parametrize("act", [CREATE.replace("x.md", "a/y.md"), REPLACE, REMOVE, "write.cookie(root)"])
def test_e6_a_read_only_file_system_is_named(root, act: str) -> None:
    setup = f"mount --bind '{root}' '{root}'; mount -o remount,ro,bind '{root}'"
    done = in_namespace(setup, program(root, act))

    assert done.stdout.startswith("MachineError 6 "), done.stdout + done.stderr
    assert "the file system is read-only" in done.stdout


def test_e6_a_read_only_folder_is_scanned_read_and_swept_in_peace(root) -> None:
    (root / ".mdmem-tmp-0").touch()
    os.utime(root / ".mdmem-tmp-0", (1, 1))
    setup = f"mount --bind '{root}' '{root}'; mount -o remount,ro,bind '{root}'"
    done = in_namespace(
        setup, program(root, "(files.scan(root).state, files.read(root, 'x.md').data, write.sweep(root))")
    )

    assert done.stdout == "done ('ok', b'old', 0)\n", done.stderr


def as_another(command: list[str]) -> subprocess.CompletedProcess[str]:
    needs("setpriv")
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    done = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *command])
    if "can't open" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("needs an interpreter and package that another user can read")
    return done


@pytest.fixture
def reachable(tmp_path_factory):
    """A folder that another user can come to: pytest's own is private."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="mdmem-test-"))
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwx", str(folder)], check=True)
    shutil.rmtree(folder)


def test_e5_what_may_not_be_read_is_reported_and_not_removed(reachable) -> None:
    for rel in ("open.md", "closed.md", "shut/x.md", "listed/x.md"):
        (reachable / rel).parent.mkdir(exist_ok=True)
        (reachable / rel).write_text("x")
    (reachable / "closed.md").chmod(0)
    (reachable / "shut").chmod(0)
    (reachable / "listed").chmod(0o744)
    act = """(
        [found.rel for found in files.scan(root).found],
        [(p.path, p.code) for p in files.scan(root).problems],
        sorted(files.scan(root).unreadable),
        files.look(root, ['shut/x.md', 'listed/x.md']).problems == files.scan(root).problems,
        [getattr(files.read(root, rel), 'code', 'read')
            for rel in ('open.md', 'closed.md', 'shut/x.md', 'listed/x.md')],
    )"""
    done = as_another(program(reachable, " ".join(act.split())))

    assert done.stdout == (
        "done (['closed.md', 'open.md'], [('listed', 'unreadable'), ('shut', 'unreadable')], ['listed', 'shut'], "
        "True, ['read', 'unreadable', 'unreadable', 'unreadable'])\n"
    ), done.stderr


def test_e5_a_root_that_may_not_be_read_is_unreadable_and_not_missing(reachable) -> None:
    (reachable / "root").mkdir(mode=0o700)
    done = as_another(program(reachable / "root", "(files.scan(root).state, files.scan(root).unreadable)"))

    assert done.stdout == "done ('unreadable', frozenset({''}))\n", done.stderr


@pytest.mark.parametrize("act", [CREATE.replace("x.md", "y.md"), REPLACE, REMOVE, "write.cookie(root)"])
def test_a_folder_that_may_not_be_written_is_named(reachable, act: str) -> None:
    (reachable / "x.md").write_bytes(b"old")
    done = as_another(program(reachable, act))

    assert done.stdout.startswith("MachineError 6 "), done.stdout + done.stderr
    assert "permission denied" in done.stdout
    assert names(reachable) == ["x.md"]


def test_an_owner_that_cannot_be_kept_is_not_exchanged_in_silence(reachable) -> None:
    reachable.chmod(0o777)
    (reachable / "x.md").write_bytes(b"old")
    done = as_another(program(reachable, REPLACE))

    assert done.stdout.startswith("MachineError 6 x.md: could not be written: the operation is not permitted"), (
        done.stderr
    )
    assert (reachable / "x.md").read_bytes() == b"old"
    assert names(reachable) == ["x.md"]


def test_k7_private_files_are_closed_to_another_user(reachable) -> None:
    assert run(
        program(reachable / "data", "(files.private_folder(root), write.create(root, 'a/x.md', b'x', private=True))")
    ).stdout
    (reachable / "data").chmod(0o755)  # even where somebody opened the outer folder
    done = as_another(
        program(reachable / "data", "(files.read(root, 'a/x.md').code, files.scan(root).problems[0].code)")
    )

    assert done.stdout == "done ('unreadable', 'unreadable')\n", done.stderr
