#!/usr/bin/python3
# run as: user root
"""The high mark of memory: what stays above it ends a run, and what the kernel can take back does not. And what is
measured of a leaf. BERM_TEST_LONG: all of it as root too, and with memory of other kinds.
"""

import json
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "lib"))
from cgroups import ROOT, tree  # noqa: E402
from tap import berm_path, case, main  # noqa: E402

MIB = 1 << 20
LONG = bool(os.environ.get("BERM_TEST_LONG"))
QUICK = ["--sample-ms", "50", "--high-samples", "3", "--grace-ms", "100"]
STRICT = ["--sample-ms", "10", "--high-samples", "1"]  # a single wrong look would end the run


def run(t, *words, **how):
    done = t.run(berm_path(), "run", "--json=record.json", "--report", "r.json", *words, **how)
    valid = t.berm("validate-report", "--file", "r.json")
    t.equal(valid.status, 0, f"{done} {valid}")
    t.equal([folder for folder in tree()[1] if "/berm-" in folder], [], "cgroups of runs")
    record = json.loads((t.dir / "record.json").read_text())
    return done, record, record["report"]["termination"]


def seen(record, name):
    (limit,) = [one for one in record["limits"] if one["name"] == name]
    return limit["seen"]


def held(t, code):
    """A run that holds 64 MiB above a mark of 32 and below a limit of 256."""
    done, record, termination = run(t, "--memory-mib", "256", "--memory-high-mib", "32", *QUICK, "--",
                                    "/usr/bin/python3", "-c", code)
    report = record["report"]
    t.equal((done.status, report["outcome"], termination["limit"]),
            (120, "safety_limit_exceeded", "sustained_high_memory"), str(done))
    t.true(32 * MIB <= seen(record, "memory high") < 256 * MIB, record["limits"])
    events = termination["cgroup_events"]
    t.true(events["memory_high"] > 0 and events["memory_oom"] == 0, events)
    t.equal((report["limits"]["memory_high_bytes"], report["limits"]["sustained_high_samples"]), (32 * MIB, 3))
    t.contains(done.err.decode(), "limit 32.0 MiB (from --memory-high), at 3 looks in a row")


if LONG or not ROOT:
    @case("TR-6 M1 memory that stays above the high mark ends the run, below the limit", deadline_s=120)
    def _(t):
        held(t, "x = bytearray(64 << 20); import time; time.sleep(1000)")

if LONG:
    @case("TR-6 M3 shared memory, which no kernel takes back without swap, is held as well", deadline_s=120)
    def _(t):
        held(t, "import os, time; f = os.memfd_create('x'); b = bytes(1 << 20)\n"
                "for _ in range(64): os.write(f, b)\ntime.sleep(1000)")


if LONG or not ROOT:
    @case("M4 page cache alone never ends a run, however often the kernel meets the mark", deadline_s=120)
    def _(t):
        place = "/var/tmp/berm-cache-%d" % ROOT
        mib = 120 if LONG else 60
        cache = (f"trap 'rm -f {place}' EXIT; dd if=/dev/zero of={place} bs=1M count={mib} status=none && "
                 f"cat {place} >/dev/null")
        done, record, termination = run(t, "--memory-mib", "64", "--memory-high-mib", "24", *STRICT, "--",
                                        "/bin/sh", "-c", cache)
        t.equal((done.status, termination["limit"]), (0, None), str(done))
        t.true(termination["cgroup_events"]["memory_high"] > 0, termination)
        t.true(record["cgroup"]["memory_peak_bytes"] > 23 * MIB, record["cgroup"])
        # It was looked at, and found to hold less.
        t.true(0 < seen(record, "memory high") < 24 * MIB, record["limits"])

if LONG:
    @case("M4 memory below the mark with page cache far beyond it is no reason to end a run", deadline_s=120)
    def _(t):
        place = "/var/tmp/berm-both-%d" % ROOT
        both = (f"import os\nx = bytearray(16 << 20)\nf = open('{place}', 'w+b'); os.unlink('{place}')\n"
                "b = bytes(1 << 20)\nfor _ in range(96): f.write(b)\n"
                "f.seek(0)\nwhile f.read(1 << 20): pass")
        done, record, termination = run(t, "--memory-mib", "96", "--memory-high-mib", "48", *STRICT, "--",
                                        "/usr/bin/python3", "-c", both)
        t.equal((done.status, termination["limit"]), (0, None), str(done))
        t.true(termination["cgroup_events"]["memory_high"] > 0, termination)


# -- what is measured

UNKNOWN = {"memory_swap_bytes"}  # the guest has no swap


if LONG or not ROOT:
    @case("RP-1 every figure that this kernel has is in the record, read when nobody was left", deadline_s=120)
    def _(t):
        work = ("import os\nx = bytearray(20 << 20)\ndel x\n"
                "for _ in range(3):\n  if os.fork() == 0: os._exit(0)\n  os.wait()")
        _, record, _ = run(t, "--memory-mib", "128", "--", "/usr/bin/python3", "-c", work)
        cgroup = record["cgroup"]
        known = {name for name, value in cgroup.items() if value is not None}
        io = {"io_read_bytes", "io_written_bytes", "io_reads", "io_writes"}
        t.equal(set(cgroup) - known - UNKNOWN, io, cgroup)
        t.true(cgroup["memory_peak_bytes"] > 20 * MIB > cgroup["memory_current_bytes"], cgroup)
        t.equal((cgroup["pids_current"], cgroup["memory_anon_bytes"]), (0, 0), cgroup)
        t.equal(cgroup["pids_peak"], 2)
        t.true(cgroup["cpu_us"] >= cgroup["cpu_user_us"] > 0 and cgroup["cpu_some_us"] >= 0, cgroup)


@case("RP-1 what was read and written is counted when it is asked for, or the run says why not", deadline_s=120)
def _(t):
    place = "/var/tmp/berm-io-%d" % ROOT
    write = f"dd if=/dev/zero of={place} bs=1M count=8 conv=fsync status=none; rm {place}"
    done, record, _ = run(t, "--measure-io", "--", "/bin/sh", "-c", write)
    t.equal(done.status, 0, str(done))
    cgroup, told = record["cgroup"], [note for note in record["notes"] if "read and written" in note]
    if ROOT:
        t.true(cgroup["io_written_bytes"] >= 8 * MIB and cgroup["io_writes"] > 0 and not told, (cgroup, told))
        _, record, _ = run(t, "--measure-io", "--", "/bin/true")
        t.equal(record["cgroup"]["io_written_bytes"], 0, "nothing is a figure as well")
    else:
        t.equal((cgroup["io_written_bytes"], len(told)), (None, 1), "Debian hands io to no user")
        t.contains(told[0], cgroup["path"])


main()
