#!/usr/bin/python3
# run as: user root
# long: root
"""berm beneath a real systemd, on cgroup v2 alone: what it sees there, what limits of the units around
it mean for a run, and what happens when systemd or the kernel ends it.

As the ordinary user the units are those of the user's manager, as root those of the system's.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from cgroups import MANAGER, ROOT, TREE, tree  # noqa: E402
from duel import ATTACK, record_of, report_of  # noqa: E402
from tap import berm_path, case, main  # noqa: E402

MIB = 1 << 20
OWN = 64 << 20  # ENVELOPE_OWN_BYTES


def scope(*properties, name=None):
    """The words before a command that is to stand in a scope of its own."""
    return ["systemd-run", *MANAGER, "--scope", "--quiet", "--collect",
            *([f"--unit={name}"] if name else []), *(f"--property={p}" for p in properties)]


def service(*properties, name=None):
    """Likewise in a service of its own, whose streams, folder and environment are the test's. What
    became of it is told by systemd-run on standard error."""
    variables = ("PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
    return ["systemd-run", *MANAGER, "--pipe", "--wait", "--same-dir", "--service-type=exec",
            *([f"--unit={name}"] if name else []), "--collect",
            *(f"--setenv={v}" for v in variables if v in os.environ or v != "XDG_RUNTIME_DIR"),
            *(f"--property={p}" for p in properties)]


def ctl(t, *words):
    done = t.run("systemctl", *MANAGER, *words)
    t.equal(done.status, 0, str(done))


def own_folder():
    return TREE / Path("/proc/self/cgroup").read_text().strip().removeprefix("0::/")


class NothingLeft:
    """Around what is run: the machine has the processes and cgroups afterwards that it had before."""

    def __init__(self, t):
        self.t = t

    def __enter__(self):
        self.pids, self.folders = tree()

    def __exit__(self, failed, *_):
        if not failed:
            pids, _ = tree()
            names = {pid: Path(f"/proc/{pid}/comm").read_text() for pid in pids - self.pids}
            self.t.equal((names, self.pids - pids), ({}, set()), "processes")
            # systemd removes the folder of a scope when it hears that it is empty
            self.t.wait_until(lambda: tree()[1] == self.folders, "systemd to remove the cgroup")


def envelope(t, *before):
    done = t.run(*before, berm_path(), "envelope", "--json")
    t.equal(done.status, 0, str(done))
    return done.json()


def checks_of(record):
    return {one["code"].removeprefix("preflight."): one
            for one in record["report"]["preflight"]["checks"]}


@case("EN-1 the envelope on cgroup v2: layout, place and controllers as the kernel has them")
def _(t):
    with NothingLeft(t):
        seen = envelope(t)
        text = t.berm("envelope").out.decode()
    cgroup = seen["cgroup"]
    t.equal((cgroup["layout"], TREE / cgroup["path"].lstrip("/")), ("v2", own_folder()))
    t.equal(cgroup["controllers"], (own_folder() / "cgroup.controllers").read_text().strip())
    t.true({"cpu", "memory", "pids"} <= set(cgroup["controllers"].split()), cgroup)
    t.contains(text, f"cgroups    v2; controllers: {cgroup['controllers']}\n")
    meminfo = dict(re.findall(r"^(\w+): +(\d+) kB$", Path("/proc/meminfo").read_text(), re.M))
    t.equal(seen["total_memory_bytes"], int(meminfo["MemTotal"]) * 1024)
    t.equal((seen["memory_bound_by"], cgroup["memory_max_bytes"]), ("/proc/meminfo", None))
    t.equal(seen["limits"]["memory_max_bytes"], seen["total_memory_bytes"] // 4 // 4096 * 4096,
            "a quarter (EN-2)")


# A folder below the unit's own, without controllers of its own: the limit is an ancestor's.
DEEPER = 'cd /sys/fs/cgroup/$(sed s,^0::/,, /proc/self/cgroup); mkdir deeper; echo $$ >deeper/cgroup.procs; cd "$OLDPWD"; exec "$@"'


@case("EN-2 beneath a memory limit the envelope is that of the limit, the own one or an ancestor's")
def _(t):
    limit = 256 * MIB
    for deeper in ([], ["sh", "-ec", DEEPER, "-"]):
        with NothingLeft(t):
            seen = envelope(t, *scope(f"MemoryMax={limit}", "Delegate=yes"), *deeper)
        unit = TREE / seen["cgroup"]["path"].strip("/").removesuffix("/deeper")
        t.equal(unit.suffix, ".scope")
        t.equal((seen["memory_bound_by"], seen["cgroup"]["memory_max_bytes"],
                 seen["total_memory_bytes"]), (str(unit), limit, limit))
        available = seen["available_memory_bytes"]
        t.true(limit - 64 * MIB < available <= limit, f"{available} of {limit}")
        t.equal(seen["plain"]["memory_bytes"], (available - OWN) // 4096 * 4096)
        t.equal(seen["limits"]["memory_max_bytes"], limit // 4 // 4096 * 4096)


@case("EN-2 beneath a memory limit a plain run gets what it leaves, and is refused more", deadline_s=90)
def _(t):
    limit = 256 * MIB
    with NothingLeft(t):
        done = t.run(*scope(f"MemoryMax={limit}"), berm_path(), "run", "--report", "r.json", "--",
                     ATTACK, "memory", 200)
        t.equal(done.status, 120, str(done))
        report = report_of(t.dir / "r.json")
        (memory,) = (one for one in record_of(t)["limits"] if one["name"] == "memory")
        left = limit - OWN
        t.true(left - 64 * MIB < memory["value"] <= left, f"{memory}")
        t.equal((report["outcome"], report["termination"]["limit"]),
                ("safety_limit_exceeded", "memory"))
        t.contains(report["preflight"]["envelope"]["memory_bound_by"], ".scope")

        done = t.run(*scope(f"MemoryMax={limit}"), berm_path(), "run", "--memory", "1G", "--",
                     "touch", "ran")
        t.equal(done.status, 121, str(done))
        check = checks_of(record_of(t))["memory"]
        t.contains(check["saw"], ".scope")
        t.contains(check["remedy"], "--memory may be at most")

        done = t.run(*scope(f"MemoryMax={512 * MIB}"), berm_path(), "run", "--", "true")
        t.equal(done.status, 0, str(done))

        done = t.run(*scope(f"MemoryMax={48 * MIB}"), berm_path(), "run", "--", "touch", "ran")
        t.equal(done.status, 121, str(done))
        check = checks_of(record_of(t))["memory"]
        t.contains(check["saw"], ".scope")
        t.contains(check["remedy"], "raise the memory limit of that cgroup")
        t.contains(done.err.decode(), check["remedy"])
    t.true(not (t.dir / "ran").exists(), "nothing was run")


AS_NOBODY = ["--user", "65534:65534"] if ROOT else []


@case("CT-2 CT-4 --require managed is given here: every guarantee is enforced, and nothing is left")
def _(t):
    t.dir.chmod(0o755)
    with NothingLeft(t):
        done = t.berm("run", "--require", "managed", *AS_NOBODY, "--", "true")
    t.equal(done.status, 0, str(done))
    record = record_of(t)
    t.equal({name: one["level"] for name, one in record["guarantees"].items()
             if one["level"] != "enforced"}, {})
    t.equal((record["containment"], record["report"]["cleanup"]["scope_removed"]),
            ("managed", True))
    t.contains(done.err.decode(), "cgroup empty and removed")


# The controller is enabled where no process is: pids stays behind.
WITHOUT_PIDS = """
cd /sys/fs/cgroup/$(sed s,^0::/,, /proc/self/cgroup)
mkdir first bare
echo $$ >first/cgroup.procs
echo +memory >cgroup.subtree_control
berm=$1; shift
exec "$berm" run --cgroup-parent "$PWD/bare" --require pids "$@" -- true
"""


@case("R12 in a cgroup without pids the refusal names the cgroup and what it has")
def _(t):
    with NothingLeft(t):
        done = t.run(*scope("Delegate=yes"), "sh", "-ec", WITHOUT_PIDS, "-", berm_path(),
                     *AS_NOBODY)
    t.equal(done.status, 121, str(done))
    check = checks_of(record_of(t))["guarantee.pids"]
    t.contains(check["saw"], "/bare")
    t.contains(check["saw"], "memory")
    t.contains(check["remedy"], "pids")


if ROOT:
    @case("R13 without user namespaces the refusal of a sandbox names the switch")
    def _(t):
        switch = Path("/proc/sys/user/max_user_namespaces")
        before = switch.read_text()
        try:
            switch.write_text("0")
            done = t.berm("run", "--require", "network", *AS_NOBODY, "--", "true")
        finally:
            switch.write_text(before)
        t.equal(done.status, 121, str(done))
        check = checks_of(record_of(t))["sandbox"]
        t.contains(check["saw"], "user.max_user_namespaces is 0")
        t.contains(check["remedy"], "sysctl user.max_user_namespaces")


def check_place(t, before, unit):
    """A payload that leaves a daemon behind, run in a unit: all is well, and nothing is left."""
    (t.dir / "r.json").unlink(missing_ok=True)
    with NothingLeft(t):
        done = t.run(*before, berm_path(), "run", "--grace-ms", 50, "--report", "r.json",
                     "--json=record.json", "--", ATTACK, "stubborn-daemon")
    t.equal(done.status, 0, str(done))
    t.true(done.out.startswith(b"ready"), str(done))
    report = report_of(t.dir / "r.json")
    t.equal((report["outcome"], report["cleanup"]["descendants_remaining"]), ("success", []))
    t.contains(report["termination"]["requested_signals"], "SIGKILL")
    t.true(re.search(unit, report["preflight"]["envelope"]["cgroup"]["path"]), report["preflight"])


@case("T17 in a service, in a scope and where one stands: a run works and leaves nothing")
def _(t):
    check_place(t, [], r"\.service$")
    check_place(t, scope(), r"/run-[^/]*\.scope$")
    check_place(t, service(), r"/run-u\d+\.service$")


if ROOT:
    @case("T17 in a login session of the ordinary user")
    def _(t):
        t.dir.chmod(0o755)
        theirs = t.dir / "theirs"
        theirs.mkdir()
        os.chown(theirs, 1000, 1000)
        t.dir, t.state = theirs, theirs / "state"
        t.env |= {"XDG_STATE_HOME": str(t.state), "TMPDIR": str(theirs), "HOME": "/home/tester"}
        check_place(t, service("User=tester", "PAMName=login", f"WorkingDirectory={theirs}"),
                    r"/user-1000\.slice/session-[^/]*\.scope$")


@case("R3 a payload that the kernel kills at an outer MemoryMax: its signal is told, no limit of berm's")
def _(t):
    os.mkfifo(t.dir / "gate")
    with NothingLeft(t):
        child = t.start_berm("run", "--memory", "500M", "--report", "r.json", "--", "sh", "-c",
                             'echo ready; read line <gate; exec "$0" memory 80', ATTACK,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.equal(child.stdout.readline(), b"ready\n")
        (unit,) = (name for name in map(os.path.basename, tree()[1]) if name.startswith("berm-") and
                   name.endswith(".scope") and not name.endswith("-watchdog.scope"))
        ctl(t, "set-property", "--runtime", unit, "MemoryMax=40M")
        (t.dir / "gate").write_text("now\n")
        said = child.communicate(timeout=300)[1]
        t.equal(child.returncode, 128 + SIGKILL, said)
        t.started.remove(child)
    report = report_of(t.dir / "r.json")
    end = report["termination"]
    t.equal((report["outcome"], end["limit"], end["child_signal"], end["requested_signals"]),
            ("command_failed", None, "SIGKILL", []))
    t.equal((end["cgroup_events"]["memory_oom"], end["cgroup_events"]["memory_oom_kill"] > 0),
            (0, True))
    t.contains(report["error"]["message"], "did not send")
    t.true(b"KILLED by SIGKILL" in said and b"LIMIT" not in said, said)


def stop_service(t, *payload, properties=(), options=()):
    """A run that systemd stops when its payload says that it is ready; what systemd-run said of it."""
    name = f"berm-test-{os.getpid()}.service"
    with NothingLeft(t):
        child = t.start(*service(*properties, name=name), berm_path(), "run", *options, "--report",
                        "r.json", "--", *payload, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        t.true(child.stdout.readline().startswith(b"ready"), "the payload is ready")
        ctl(t, "stop", name)
        _, said = child.communicate(timeout=300)
    return said.decode()


@case("R19 systemctl stop, which signals every process of the unit: an interruption, whoever is quicker",
      deadline_s=120)
def _(t):
    dies = ("sh", "-c", "echo ready; exec sleep 1000")
    obeys = ("sh", "-c", "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    deaf = (ATTACK, "deaf")
    for payload, options in ((dies, ()), (obeys, ()), (deaf, ("--grace-ms", 50))):
        said = stop_service(t, *payload, options=options)
        t.contains(said, "INTERRUPTED by SIGTERM")
        t.contains(said, "code=killed/status=TERM")
        report = report_of(t.dir / "r.json")
        t.equal((report["outcome"], report["termination"]["limit"],
                 report["cleanup"]["descendants_remaining"]), ("interrupted", "signal", []))
        t.equal(t.berm("validate-report", "--file", "r.json").status, 0)
    t.contains(report["termination"]["requested_signals"], "SIGKILL")


@case("RS-2 systemd does not wait for the grace: what stands in the report is no success")
def _(t):
    said = stop_service(t, ATTACK, "deaf", properties=("TimeoutStopSec=1",),
                        options=("--grace-ms", 600000))
    t.contains(said, "status=KILL")
    report = report_of(t.dir / "r.json")
    # The watchdog outlives the service, and ends what it left.
    t.equal((report["outcome"], report["termination"]["child_signal"]), ("interrupted", "SIGKILL"))
    t.equal((report["cleanup"]["descendants_remaining"], report["cleanup"]["scope_removed"]),
            ([], True))


@case("a unit without room for one more task: nothing is run, the report says why")
def _(t):
    with NothingLeft(t):
        done = t.run(*scope("TasksMax=1"), berm_path(), "run", "--report", "r.json", "--", "touch",
                     "ran")
    t.equal((done.status, (t.dir / "ran").exists()), (125, False), str(done))
    report = report_of(t.dir / "r.json")
    t.equal((report["outcome"], report["termination"]["reason"]),
            ("internal_error", "spawn_failed"), str(done))
    t.contains(report["error"]["message"], "EAGAIN")


main()
