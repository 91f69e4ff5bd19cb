#!/usr/bin/python3
"""UNTOUCHABLE, a set-uid program of root's, in the run of an ordinary user that a scope holds: no signal of
the user's reaches it, and the kernel ends it all the same. Without a scope it survives: survivor.py.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from duel import ATTACK, record_of  # noqa: E402
from tap import SLOWNESS, case, main  # noqa: E402


@case("T3 a set-uid process that no signal reaches is ended with its leaf")
def _(t):
    child = t.start_berm("run", "--grace-ms", 50, "--stdin", "inherit", "--", ATTACK, "leave-untouchable",
                         os.environ["UNTOUCHABLE"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    pid = int(child.stdout.readline().split()[1])
    status = Path(f"/proc/{pid}/status")
    t.contains(status.read_text(), "Uid:\t0\t0\t0\t0")
    try:
        os.kill(pid, 0)
        t.true(False, "the user may signal it")
    except PermissionError:
        pass
    child.wait(60 * SLOWNESS)  # its standard input is still open: it has no reason to end of itself
    t.true(not status.exists(), "it lives")
    said = child.communicate()[1].decode()
    t.started.remove(child)
    t.equal(record_of(t)["report"]["cleanup"]["descendants_remaining"], [])
    t.contains(said, "cgroup empty and removed")


main()
