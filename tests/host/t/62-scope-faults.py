#!/usr/bin/python3
# run as: user root
"""Scopes of runs when kernel calls fail, or do nothing and claim success: a scope is refused, or what it says is
true. BERM_TEST_LONG: each call of them; else some, of which each had a reason.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from cgroups import ROOT  # noqa: E402
from scopes import DRIVE, PARENT, Drive, NothingLeft, check_limits  # noqa: E402
from tap import Failed, case, main  # noqa: E402

LONG = bool(os.environ.get("BERM_TEST_LONG"))
LIMITS = ("--memory", 67109000, "--high", 50000000, "--pids", 30)


def calls_of(t, *options):
    """The kernel calls by name, from the begin of a scope to where the gate is in it; of a second one, since the first
    may have handed controllers on."""
    list_calls(t, *options)
    return list_calls(t, *options)


def list_calls(t, *options):
    log = t.dir / "log"
    with open(log, "wb") as file:
        done = t.run(DRIVE, *LIMITS, *options, "--", "true", env={"BERM_FAULT_LOG": str(file.fileno())},
                     pass_fds=[file.fileno()], stdin=b"kill\nremove\n")
    t.contains(done.out.decode(), "removed gone=1")
    return [line.split()[2] for line in log.read_text().splitlines() if line.startswith("scope ")]


def with_fault(t, fault, *options):
    """Either the scope is refused, or all that it promises is true; whether it was made."""
    name = f"berm-{fault.replace(':', '-')}.scope"
    drive = Drive(t, *LIMITS, "--name", name, "--deadline-ms", 3000, *options, env={"BERM_FAULT": fault})
    try:
        drive.made()
        made = True
    except Failed:
        made = False
    try:
        if made:
            check_limits(t, drive, *LIMITS[1::2])
            drive.order("kill", "empty")
            drive.order("remove", "removed")
    except (Failed, OSError) as wrong:
        raise Failed(f"{fault}: {wrong}\n{drive.said}") from None
    drive.child.stdin.close()
    drive.child.wait()
    said = [line.split(" ")[0] for line in drive.said]
    t.true(made or "error" in said, f"{fault}: {drive.said}")
    t.true(not (PARENT / name).exists(), f"{fault}: it is there: {drive.said}")
    return made


def sweep(t, faults, *options):
    """How many of the faults did not matter; each that did is a refusal."""
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda fault: with_fault(t, fault, *options), faults))
    print(f"# {len(faults)} faults, of which {sum(made)} did not matter")
    return sum(made)


if LONG or not ROOT:
    # An open that does nothing answers 0, which is /dev/null here: what is written there goes nowhere, in full.
    @case("R8 CT-3 each write of a limit that does nothing and claims success: the scope is refused", deadline_s=120)
    def _(t):
        with NothingLeft(t):
            calls = calls_of(t, "--parent", PARENT)
            opens = [number for number, both in enumerate(zip(calls, calls[1:]), 1) if both == ("openat", "write")]
            t.true(len(opens) >= 12, calls)
            # memory.oom.group of a scope is 0 by itself, and a gate that was not moved is moved once more.
            t.true(sweep(t, [f"scope:{number}:noop" for number in opens], "--parent", PARENT) <= 2, calls)

    @case("CT-3 limits that cannot be read back: the scope is refused", deadline_s=120)
    def _(t):
        with NothingLeft(t):
            calls = calls_of(t, "--parent", PARENT)
            reads = [number for number, name in enumerate(calls, 1) if name in ("read", "pread64", "pread")]
            t.true(len(reads) >= 20, calls)
            t.equal(sweep(t, [f"scope:{number}:EIO" for number in reads[::1 if LONG else 8]],
                          "--parent", PARENT), 0)


if LONG:
    @case(f"CT-3 each call in turn {'fails' if ROOT else 'does nothing and claims success'}: a scope is refused, "
          "or what it says is true", deadline_s=3000)
    def _(t):
        how = "EIO" if ROOT else "noop"
        with NothingLeft(t):
            calls = calls_of(t, "--parent", PARENT)
            faults = [f"scope:{number}:{how}" for number, name in enumerate(calls, 1) if name != "close"]
            t.true(sweep(t, faults, "--parent", PARENT) < len(faults) * 2 / 3, faults)


@case("CT-3 in a unit of systemd a call that never does anything is not believed", deadline_s=1200)
def _(t):
    with NothingLeft(t):
        names = sorted(set(calls_of(t)) - {"close", "poll", "prctl"})  # no guard is among those
        names = names if LONG else [name for name in names if name in ("write", "mkdirat")]
        made = [name for name in names if with_fault(t, f"scope:{name}:noop")]
        t.equal(made, [], names)


main()
