#!/usr/bin/python3
"""A job of an ordinary user on a pinned host: bubblewrap by path and digest, and the quota as it is enforced.
../pinned says what is pinned. The adversarial matrix with it is the ordinary user's self-test (70-self-test.py).
"""

import hashlib
import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "lib"))
from pinned import DIGEST, PIN, PINNED  # noqa: E402
from tap import case, main  # noqa: E402

MIB = 1 << 20
# What is refused is never there: usage stays below the quota, so that nothing else ends the run.
PROBE = "fallocate -l 512K /tmp/half && ! fallocate -l 1M /tmp/whole && ! fallocate -l 1M /dev/shm/whole && echo held"
# Until the kernel refuses one more; then berm sees that there is no room left.
FLOOD = "i=0; while true >/tmp/$i; do i=$((i + 1)); done; exec sleep 1000"


@case("PT-2 IB-2 bubblewrap is the program of the pinned package, held by path and digest; other bytes are refused")
def _(t):
    t.true(os.geteuid() != 0, "this is an ordinary user's job")
    t.true(os.path.exists(PINNED), "the image has no pinned bubblewrap: Debian has another package than ../pinned says")
    t.equal(hashlib.sha256(Path(PINNED).read_bytes()).hexdigest(), DIGEST)
    t.equal(os.listdir(os.path.dirname(PINNED)), ["bwrap"])
    explained = t.berm("run", "--sandbox", "--explain", "--json", "--", "/bin/true", env=PIN).json()
    t.equal((explained["would_run"], explained["sandbox"]["tool"]), (True, PINNED), explained)
    done = t.berm("run", "--sandbox", "--", "/bin/true", env=PIN | {"BERM_BWRAP_SHA256": "0" * 64})
    t.equal(done.status, 121, done)
    t.contains(done.err.decode(), PINNED)


@case("PT-2 SB-7 the hard quota of bytes and files, as an enforced run has it", deadline_s=30)
def _(t):
    for script, status, limit in ((PROBE, 0, None), (FLOOD, 120, "temporary_inodes")):
        done = t.berm("run", "--require", "managed", "--temporary", "1M", "--temporary-files", "256", "--report", "r.json",
                      "--", "/bin/sh", "-c", script, env=PIN)
        t.equal((done.status, done.out), (status, b"held\n" if limit is None else b""), done)
        report = json.loads((t.dir / "r.json").read_text())
        t.equal(report["termination"]["limit"], limit)
        t.true(report["peaks"]["temporary_bytes"] <= MIB and report["peaks"]["temporary_inodes"] <= 256,
               report["peaks"])


main()
