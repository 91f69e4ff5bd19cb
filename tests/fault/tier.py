#!/usr/bin/python3
"""Every kernel call fails once of what a run at a tier writes down: the lock and its claim, its fence, its promotion.

A failure has words and ends there. A fence that could not be put up does not stand; a promotion is there whole or not at
all; both files can be read. The lock is free when the process has ended, and the next one, of other work, makes all
its steps and leaves no claim.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import case, main  # noqa: E402

DRIVE = os.environ["TIER_DRIVE"]
LONG = bool(os.environ.get("BERM_TEST_LONG"))
ERRNOS = ["EIO", "ENOSPC", "EACCES"] if LONG else ["EIO"]
STEPS = ["lock", "claim", "alone", "fence", "lowered", "promoted", "released", "forgotten"]


def place(t):
    folder = t.dir / "place"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o1777)
    return folder


def drive(t, state, digit, run, **how):
    """The steps that were made, and the step that failed with its words."""
    done = subprocess.run([DRIVE, place(t), t.dir / state, digit, run], capture_output=True, **how)
    t.true(done.returncode in (0, 1) and not done.stderr, str(done))
    lines = done.stdout.decode().splitlines()
    failed = lines.pop().split(" ", 3)[1:] if done.returncode else None
    return lines, failed


def count_calls(t):
    log = t.dir / "log"
    with open(log, "wb") as out:
        steps, failed = drive(t, "counted", "a", "k7f3aa", env={"BERM_FAULT_LOG": str(out.fileno())}, pass_fds=[out.fileno()])
    t.equal((steps, failed), (STEPS, None))
    return len(log.read_bytes().splitlines())


def stored(t, state, name, member):
    path = t.dir / state / name
    return [one["run_id"] for one in json.loads(path.read_text())[member]] if path.exists() else []


def check(t, state, steps, failed, what):
    standing, promoted = stored(t, state, "fences.json", "standing"), stored(t, state, "promotions.json", "promotions")
    if not failed:
        t.equal(steps, STEPS, what)
        return
    step, _, words = failed
    t.true(len(words) > 10, f"{what}: no word of why")
    t.equal(steps, STEPS[:STEPS.index(step)] if step in STEPS else [], what)
    if "fence" not in steps and "may stand" not in words:
        t.equal(standing, [], f"{what}: {words}")
    if "lowered" in steps:
        t.equal(standing, [], f"{what}: {words}")
    if step not in ("promoted", "released", "forgotten"):
        t.equal(promoted, [], f"{what}: {words}")


for errno in ERRNOS:
    @case(f"TR-3 TR-4 FZ-1 FZ-5 the lock, a fence and a promotion with each kernel call failing once ({errno})",
          deadline_s=1800)
    def _(t, errno=errno):
        calls = count_calls(t)
        t.true(calls > 100, f"only {calls} calls were counted")
        for nth in range(1, calls + 1):
            state, what = f"state{nth}", f"call {nth} failed"
            steps, failed = drive(t, state, "a", "k7f3aa", env={"BERM_FAULT": f"controller:{nth}:{errno}"})
            check(t, state, steps, failed, what)
            steps, failed = drive(t, state, "b", "k7f4aa")
            t.equal((steps, failed), (STEPS, None), f"after {what}")
            t.equal(os.listdir(place(t)), [], f"after {what}: a claim")
            t.equal("k7f4aa" in stored(t, state, "promotions.json", "promotions"), True)


main()
