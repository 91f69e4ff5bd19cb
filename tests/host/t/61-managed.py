#!/usr/bin/python3
# run as: user root
"""A run in a scope, from every place that one can start from: the kernel holds its limits, says what
ended it, and nothing is left.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "lib"))
from cgroups import ROOT  # noqa: E402
from managed import (AS, DELEGATED, delegated, figure_of, left, living, record_of, run,  # noqa: E402
                     service)
from tap import berm_path, case, cases, main  # noqa: E402

LONG = bool(os.environ.get("BERM_TEST_LONG"))
ROUNDS = 100 if LONG else 5

# Where pam_systemd put it, the caller may move nobody: root's cgroup, and no manager above but the user's own.
IN_SESSION = 'grep -q "/session-[^/]*\\.scope$" /proc/self/cgroup; exec "$@"'


def session(t):
    """A login of the ordinary user; the case's folder is that user's then."""
    user = pwd.getpwnam("tester")
    for folder in (t.dir, t.home):
        os.chown(folder, user.pw_uid, user.pw_gid)
    words = service(t)
    return [*words[:-1], "--property=User=tester", "--property=PAMName=login", "--", "sh", "-euc", IN_SESSION, "sh"]


PLACES = {
    "where this test runs": (lambda t: [], AS),
    "a service": (service, AS),
    "a delegated cgroup": (lambda t: delegated(), AS),
} | ({"a login session": (session, [])} if ROOT else {})


def managed(name, before, who):
    @case(f"CT-2 CT-4 managed, every guarantee enforced, nothing left: from {name}")
    def _(t):
        done, record = run(t, "--require", "managed", *who, "--", "/bin/sh", "-c", "exit 0",
                           before=before(t))
        t.equal(done.status, 0, str(done))
        levels = {key: one["level"] for key, one in record["guarantees"].items()}
        t.equal(set(levels.values()), {"enforced"}, levels)
        t.equal(record["containment"], "managed")
        wanted = "delegated" if "delegated" in name else "systemd"
        t.contains(record["cgroup"]["adapter"], wanted)
        cleanup = record["report"]["cleanup"]
        t.equal((cleanup["scope_removed"], cleanup["descendants_remaining"], cleanup["errors"],
                 cleanup["temporary_directory_removed"]), (True, [], [], True))
        t.equal(Path(record["cgroup"]["path"]).exists(), False)
        t.equal(left(), ([], []))


for place, (words, who) in PLACES.items():
    managed(place, words, who)


@case("CT-3 a scope that cannot be finished is a refusal that says what was seen, and nothing is left")
def _(t):
    full = DELEGATED.replace("berm=$1", 'echo 2 >"$own/cgroup.max.descendants"; berm=$1')
    done, record = run(t, "--", "/bin/sh", "-c", "echo ran",
                       before=delegated(script=full))
    report = record["report"]
    t.equal((done.status, done.out, report["outcome"]), (121, b"", "preflight_refused"), str(done))
    (check,) = [one for one in report["preflight"]["checks"] if not one["ok"]]
    t.contains(check["what"], "cannot make '/sys/fs/cgroup/")
    t.contains(check["remedy"], "--cgroup-parent")
    t.equal((report["cleanup"]["scope_removed"], report["cleanup"]["errors"]), (True, []), report)
    t.equal(left(), ([], []))


@case(f"M1 a limit of memory that the kernel enforces is what ended the run: {ROUNDS} of {ROUNDS}",
      deadline_s=1200)
def _(t):
    endings = []
    for _ in range(ROUNDS):
        done, record = run(t, "--memory", "24M", "--", "/usr/bin/python3", "-c",
                           "x = bytearray(200 << 20)")
        report = record["report"]
        endings.append((done.status, report["outcome"], report["termination"]["limit"],
                        report["termination"]["cgroup_events"]["memory_oom"] > 0))
    print(f"# {ROUNDS} rounds: {sorted(set(endings))}")
    t.equal(set(endings), {(120, "safety_limit_exceeded", "memory", True)})


@case("M1 the same undefended: the memory is given")
def _(t):
    t.equal(t.run("/usr/bin/python3", "-c", "x = bytearray(200 << 20)").status, 0)


@case("T4 T9 a storm of forks stops at the limit of tasks, and all of it is ended")
def _(t):
    storm = "import os\nwhile True:\n  try:\n    os.fork()\n  except OSError:\n    pass"
    done, record = run(t, "--tasks", "40", "--timeout", "60s", "--grace-ms", "50", "--",
                       "/usr/bin/python3", "-c", storm)
    report = record["report"]
    t.equal((done.status, report["termination"]["limit"]), (120, "pids"), str(done))
    t.equal(record["cgroup"]["pids_peak"], 40)
    t.equal((report["cleanup"]["descendants_remaining"], left()), ([], ([], [])))


@case("RP-1 an outside reader of the cgroup agrees with the peak within 5 %")
def _(t):
    child = t.start_berm("run", "--json=record.json", "--stdin", "inherit", "--", "/usr/bin/python3", "-c",
                         "import sys; x = bytearray(100 << 20); sys.stderr.write('ready'); sys.stderr.flush(); "
                         "sys.stdin.read()", stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                         stdout=subprocess.DEVNULL)
    t.wait_until(lambda: figure_of("memory.current") > 100 << 20, "the payload to have its memory")
    outside = figure_of("memory.peak")
    child.communicate(timeout=120)
    t.started.remove(child)
    peak = record_of(t)["cgroup"]["memory_peak_bytes"]
    print(f"# outside {outside}, told {peak}")
    t.true(abs(peak - outside) <= outside / 20, f"{peak} {outside}")


@case("M3 page cache alone never ends a run")
def _(t):
    done, record = run(t, "--memory", "48M", "--", "/bin/sh", "-c",
                       "dd if=/dev/zero of=/var/tmp/berm-cache bs=1M count=120 2>/dev/null && "
                       "cat /var/tmp/berm-cache >/dev/null; s=$?; rm -f /var/tmp/berm-cache; exit $s")
    t.equal(done.status, 0, str(done))
    events = record["report"]["termination"]["cgroup_events"]
    t.true(events["memory_max"] > 0, f"it came to the limit: {events}")
    t.equal((events["memory_oom"], events["memory_oom_kill"]), (0, 0), events)


@case("WD-5 RS-5 SIGKILL of berm: its watchdog ends the run and says so in the report")
def _(t):
    own = f"asleep-{os.getpid()}"  # nobody else's is called so
    shutil.copy("/bin/sleep", t.dir / own)
    child = t.start_berm("run", "--report", "r.json", "--", "/bin/sh", "-c",
                         f"setsid ./{own} 1000 & echo ready; exec ./{own} 1000",
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.equal(child.stdout.readline(), b"ready\n")
    t.wait_until(lambda: living().count(own) == 2, "both sleep")
    child.kill()
    child.wait(30)
    t.started.remove(child)
    t.wait_until(lambda: left() == ([], []), "the watchdog to have ended the run")
    report = json.loads((t.dir / "r.json").read_text())
    t.equal((report["outcome"], report["termination"]["child_signal"],
             report["cleanup"]["scope_removed"]), ("interrupted", "SIGKILL", True))
    t.equal(t.berm("validate-report", "--file", "r.json").status, 0)
    t.true(own not in living(), "nobody sleeps any more")
    t.equal(t.berm("recover", "--runs").status, 0)


@case("CX-1 CX-2 a program in the sandbox learns of its run, reads its own limit and cannot raise it")
def _(t):
    done, record = run(t, "--sandbox", *AS, "--tasks", "50", "--", "/bin/sh", "-c",
                       '"$0" context --json; own=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup); '
                       'cat "$own/pids.max"; (echo 90 >"$own/pids.max") 2>/dev/null || echo shut', berm_path())
    t.equal(done.status, 0, str(done))
    *told, limit, shut, _ = done.out.decode().split("\n")
    t.equal((limit, shut), ("52", "shut"), str(done))  # with the sandbox's own two
    told = json.loads("\n".join(told))
    t.equal((told["verdict"], told["run"], told["containment"], str(told["limits"]["pids_max"])),
            ("inside", record["report"]["run_id"], "managed", limit), told)


if ROOT and not LONG:  # what is the same for both is shown by the user
    cases[:] = [one for one in cases if one[0].startswith(("CT-2 ", "CT-3 "))]
main()
