#!/usr/bin/python3
"""Deaths while a snapshot is taken or brought up to date.  snapshot.py KILL-AT

Whenever the process dies, the next one has the copy that an undisturbed one has, and says so by the same
digest.
"""

import filecmp
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from sources import DRIVE, put, repository, take  # noqa: E402
from tap import case, main  # noqa: E402

KILL_AT = sys.argv.pop(1)
LONG = os.environ.get("BERM_TEST_LONG") == "1"
DEATHS = 10_000 if LONG else 24


def fill(folder, text):
    for name in ("a", "d/b", "d/e/c"):
        put(folder, name, text)
    (folder / f"link-{text.strip()}").symlink_to("d/b")
    put(folder, f"only/{text.strip()}", text, 0o755)


def same(t, folder, tree, what):
    compared = filecmp.dircmp(folder, tree, ignore=[".git"])
    t.true(not (compared.left_only or compared.right_only or compared.diff_files), f"{what}: another tree")


def numbers(calls):
    step = max(1, calls // DEATHS)
    return range(1, calls + 1, step)


def count_calls(t, folder, state):
    out = t.dir / "calls"
    taken = take(t, folder, before=(KILL_AT, out), state=state)
    return int(out.read_text().split()[1]), taken.digest


def die(t, folder, nth, state):
    done = subprocess.run([KILL_AT, "--nth", str(nth), t.dir / "calls", DRIVE, t.dir / state, folder],
                          capture_output=True)
    t.equal(done.returncode, 128 + 9, f"call {nth}: {done}")


@case("S1 the first snapshot of a repository, killed at its system calls", deadline_s=900)
def _(t):
    folder = repository(t)
    fill(folder, "one\n")
    calls, digest = count_calls(t, folder, "counted")
    for nth in numbers(calls - 2):
        die(t, folder, nth, f"state{nth}")
        taken = take(t, folder, state=f"state{nth}")
        t.equal(taken.digest, digest, f"after a death at call {nth}")
        same(t, folder, taken.tree, f"after a death at call {nth}")


@case("S1 bringing one up to date, killed at its system calls", deadline_s=900)
def _(t):
    folder = repository(t)
    fill(folder, "one\n")
    first = take(t, folder)
    for name in ("link-one", "only/one"):
        (folder / name).unlink()
    fill(folder, "two\n")
    calls, digest = count_calls(t, folder, "berm-state")
    t.true(digest != first.digest, "nothing was brought up to date")
    for nth in numbers(calls - 2):
        for name in ("link-two", "only/two"):
            (folder / name).unlink(missing_ok=True)
        fill(folder, "one\n")
        take(t, folder)
        for name in ("link-one", "only/one"):
            (folder / name).unlink()
        fill(folder, "two\n")
        die(t, folder, nth, "berm-state")
        taken = take(t, folder)
        t.equal(taken.digest, digest, f"after a death at call {nth}")
        same(t, folder, taken.tree, f"after a death at call {nth}")


main()
