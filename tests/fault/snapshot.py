#!/usr/bin/python3
"""Every kernel call of a snapshot fails once, or claims success and does nothing.  snapshot.py

Whichever it is: an error with words, or the snapshot that an undisturbed one is. And the one after it is that in
any case: no failure leaves a copy that passes for another.
"""

import filecmp
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from sources import DRIVE, Taken, put, repository, take  # noqa: E402
from tap import case, main  # noqa: E402

LONG = bool(os.environ.get("BERM_TEST_LONG"))
ERRNOS = ["EIO", "ENOSPC", "ENOENT", "EACCES"] if LONG else ["EIO"]


def drive(t, folder, state, fault=None):
    env = {"BERM_FAULT": fault} if fault else {}
    done = subprocess.run([DRIVE, t.dir / state, folder], env=env, capture_output=True)
    t.true(done.returncode in (0, 1) and not done.stderr, f"{fault}: {done}")
    return Taken(done)


def count_calls(t, folder, state):
    log = t.dir / "log"
    with open(log, "wb") as out:
        subprocess.run([DRIVE, t.dir / state, folder], env={"BERM_FAULT_LOG": str(out.fileno())}, check=True,
                       pass_fds=[out.fileno()], stdout=subprocess.DEVNULL)
    return len(log.read_bytes().splitlines())


def check(t, folder, taken, digest, what):
    t.equal(taken.digest, digest, f"{what}: {taken.lines}")
    compared = filecmp.dircmp(folder, taken.tree, ignore=[".git"])
    t.true(not (compared.left_only or compared.right_only or compared.diff_files), f"{what}: another tree")


def fill(folder, text):
    for name in ("a", "d/b", "d/e/c"):
        put(folder, name, text)
    put(folder, ".gitignore", "*.o\n")
    (folder / f"link-{text.strip()}").symlink_to("d/b")
    put(folder, f"only/{text.strip()}", text, 0o755)


def empty(folder, text):
    (folder / f"link-{text.strip()}").unlink(missing_ok=True)
    (folder / f"only/{text.strip()}").unlink(missing_ok=True)


def sweep(t, verdict, prepare):
    folder = repository(t)
    fill(folder, "two\n")
    digest = take(t, folder, state="undisturbed").digest
    prepare(folder, "counted")
    calls = count_calls(t, folder, "counted")
    t.true(calls > 100, f"only {calls} calls were counted")
    for nth in range(1, calls + 1):
        prepare(folder, f"state{nth}")
        taken = drive(t, folder, f"state{nth}", f"controller:{nth}:{verdict}")
        if taken.error:
            t.true(len(taken.error) > len("error 1 "), f"call {nth}: no word of why")
        elif verdict != "noop":
            check(t, folder, taken, digest, f"with call {nth} failed")
        check(t, folder, take(t, folder, state=f"state{nth}"), digest, f"after call {nth} failed")


for errno in ERRNOS:
    @case(f"S8 a snapshot with each kernel call failing once ({errno})", deadline_s=1800)
    def _(t, errno=errno):
        sweep(t, errno, lambda folder, state: None)


    @case(f"S8 bringing one up to date with each kernel call failing once ({errno})", deadline_s=1800)
    def _(t, errno=errno):
        def prepare(folder, state):
            empty(folder, "two\n")
            fill(folder, "one\n")
            take(t, folder, state=state)
            empty(folder, "one\n")
            fill(folder, "two\n")
        sweep(t, errno, prepare)


main()
