#!/usr/bin/python3
# run as: user root
# long
"""The watchdog with real leaves: how fast they are empty, what is left, and what a unit's end does to it.

The leaves are made here, in the test's own delegated unit; the judge is tests/crash/check-clean.
"""

import os
import re
import select
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
TESTS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "lib"))
from tap import SLOWNESS, case, children, main  # noqa: E402

BUILD = Path(os.environ["BERM_BUILD"])
DRIVE, EMPTY_AFTER = BUILD / "tests/lib/watch-drive", BUILD / "tests/crash/empty-after"
CHECK = TESTS / "crash/check-clean"
MANAGER = [] if os.geteuid() == 0 else ["--user"]
ROUNDS = 50
RECORD = '{\n "schema": "berm.run/v1",\n "run_id": "run001",\n "says": "%s"\n}\n'


def own_folder():
    return Path("/sys/fs/cgroup") / Path("/proc/self/cgroup").read_text().strip().removeprefix("0::/")


# Nobody may be in a cgroup that hands controllers on.
UNIT = own_folder()
if UNIT.name != "test":
    (UNIT / "test").mkdir()
    (UNIT / "test/cgroup.procs").write_text(str(os.getpid()))
    (UNIT / "cgroup.subtree_control").write_text("+memory +pids")
else:
    UNIT = UNIT.parent


class Leaf:
    """A scope with a leaf, full of processes that only wait."""

    def __init__(self, t, processes=9, command=("sleep", "1000"), **popen):
        self.scope = UNIT / "berm-run001.scope"
        self.folder = self.scope / "payload"
        self.scope.mkdir()
        (self.scope / "cgroup.subtree_control").write_text("+memory +pids")
        self.folder.mkdir()
        self.children = [self.add(t, command, **popen) for _ in range(processes)]

    def add(self, t, command, **popen):
        enter = ["sh", "-c", 'echo $$ >"$0"/cgroup.procs; exec "$@"', self.folder, *command]
        child = t.start(*enter, stdout=subprocess.PIPE, start_new_session=True, **popen)
        t.wait_until(lambda: str(child.pid) in (self.folder / "cgroup.procs").read_text().split(), "in it")
        return child

    def options(self, **more):
        return ["--scope", self.scope, "--leaf", "payload", "--scope-parent", UNIT]

    def reap(self):
        for child in self.children:
            child.wait()
            child.stdout.close()


def folders(t):
    return [t.state / "berm/watch", t.dir / "made", t.dir / "slots"]


def make_folders(t):
    for folder in folders(t):
        folder.mkdir(parents=True, exist_ok=True)


class Run:
    """A controller with a watchdog, and what may not be left of it."""

    def __init__(self, t, leaf, *options, before=()):
        self.t, self.leaf = t, leaf
        make_folders(t)
        self.slot = t.dir / "slots/record.json"
        for name in ("crash", "left"):
            (t.dir / name).write_text(RECORD % name)
        self.slot.write_text(RECORD % "in progress")
        self.child = t.start(*before, DRIVE, "--state", t.state / "berm/watch", "--record", self.slot, "--texts",
                             t.dir / "crash", t.dir / "left", "--directory", t.dir / "made", "--lock",
                             t.dir / "lock", *leaf.options(), *options,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        words = self.child.stdout.readline().decode().split()
        t.equal(words[0], "ready", words)
        self.watchdog = int(words[1])
        self.pidfd = os.pidfd_open(self.watchdog)

    def tell(self, *words):
        self.child.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.child.stdin.flush()
        return self.child.stdout.readline().decode().split()

    def watchdog_ends(self):
        self.t.true(select.select([self.pidfd], [], [], 30 * SLOWNESS)[0], "the watchdog ends")
        os.close(self.pidfd)

    def said(self):
        return re.search(r'"says": "(.*)"', self.slot.read_text())[1]


def check(t, when, *options):
    words = [word for folder in folders(t) for word in ("--folder", folder)]
    return t.run(CHECK, when, t.dir / "notes", *(words if when == "before" else []), *options,
                 deadline_s=60)


def before(t):
    make_folders(t)
    (t.dir / "slots/record.json").touch()
    t.equal(check(t, "before", "--slot", t.dir / "slots/record.json").status, 0)


def measure(t, processes, rounds):
    """Nanoseconds from the SIGKILL of the controller to the empty leaf; and what a fork and exec takes meanwhile,
    since others may be at work here."""
    took, own = [], []
    for _ in range(rounds):
        own += [int(subprocess.run([EMPTY_AFTER, "-"], capture_output=True, check=True).stdout) for _ in range(3)]
        leaf = Leaf(t, processes)
        run = Run(t, leaf)
        t.equal(run.tell("arm"), ["armed"])
        done = t.run(EMPTY_AFTER, run.child.pid, leaf.folder)
        t.equal(done.status, 0, str(done))
        took.append(int(done.out))
        run.child.wait()
        leaf.reap()
        run.watchdog_ends()
        t.true(not leaf.scope.exists(), "leaf and scope are removed")
        t.equal((run.said(), os.listdir(t.state / "berm/watch"), os.listdir(t.dir / "made")), ("crash", [], []))
    print(f"# {processes} processes: median {statistics.median(took) / 1e6:.1f} ms, worst {max(took) / 1e6:.1f} ms of "
          f"{rounds}; a fork and exec here takes {statistics.median(own) / 1e6:.1f} ms, at worst {max(own) / 1e6:.1f} ms")
    return took, own


@case("WD-5 R38 R43 SIGKILL of the controller, 9 processes: the leaf is empty soon, and everything is removed",
      deadline_s=290)
def _(t):
    took, own = measure(t, 9, ROUNDS // 2)
    t.true(statistics.median(took) <= max(30e6, 2 * statistics.median(own)), (took, own))
    t.true(max(took) <= max(100e6, 2 * max(own)), (took, own))


@case("WD-5 R38 and with 64 processes", deadline_s=200)
def _(t):
    took, own = measure(t, 64, 3)
    t.true(statistics.median(took) <= max(250e6, 16 * statistics.median(own)), (took, own))


@case("S1 the judge finds nothing after a crash, and a decoy lives on", deadline_s=60)
def _(t):
    before(t)
    decoy = t.start("sleep", "1000")
    leaf = Leaf(t, 3)
    run = Run(t, leaf)
    t.equal(run.tell("arm"), ["armed"])
    run.child.kill()
    run.child.wait()
    leaf.reap()
    run.watchdog_ends()
    t.equal(decoy.poll(), None, "nobody else is signalled")
    decoy.kill()
    decoy.wait()
    t.wait_until(lambda: not children(), "all are reaped")
    done = check(t, "after")
    t.equal((done.status, run.said()), (0, "crash"), str(done))


@case("S3 without a watchdog the judge finds what is left, and berm recover --runs heals it", deadline_s=60)
def _(t):
    before(t)
    leaf = Leaf(t, 3)
    run = Run(t, leaf)
    t.equal(run.tell("arm"), ["armed"])
    for pid in (run.watchdog, run.child.pid):
        os.kill(pid, signal.SIGKILL)
    run.child.wait()
    done = check(t, "after", "--within", 50)
    said = done.out.decode()
    t.equal(done.status, 1, str(done))
    for kind in ("process", "cgroup", "entry"):
        t.true(re.search(f"^{kind} ", said, re.M), said)
    t.equal(run.said(), "in progress")
    done = t.berm("recover", "--runs")
    t.contains(done.out.decode(), "healed 1, left 0, active 0")
    leaf.reap()
    t.wait_until(lambda: not children(), "all are reaped")
    done = check(t, "after")
    t.equal((done.status, run.said()), (0, "crash"), str(done))


@case("T4 a storm of forks in the leaf is ended as well", deadline_s=120)
def _(t):
    leaf = Leaf(t, 0)
    (leaf.folder / "pids.max").write_text("200")
    storm = leaf.add(t, ["sh", "-c", "while :; do (sleep 1000 &) 2>/dev/null; done"],
                     stderr=subprocess.DEVNULL)
    leaf.children.append(storm)
    run = Run(t, leaf)
    t.equal(run.tell("arm"), ["armed"])
    t.wait_until(lambda: int((leaf.folder / "pids.current").read_text()) > 100, "the storm", deadline_s=30)
    run.child.kill()
    run.child.wait()
    leaf.reap()
    run.watchdog_ends()
    t.true(not leaf.scope.exists() and run.said() == "crash", run.said())


@case("a leaf that somebody else emptied and removed counts as empty", deadline_s=60)
def _(t):
    leaf = Leaf(t, 1)
    run = Run(t, leaf)
    t.equal(run.tell("arm"), ["armed"])
    (leaf.folder / "cgroup.kill").write_text("1")
    leaf.reap()
    t.wait_until(lambda: "populated 0" in (leaf.folder / "cgroup.events").read_text(), "it is empty")
    leaf.folder.rmdir()
    leaf.scope.rmdir()
    began = time.monotonic()
    run.child.kill()
    run.child.wait()
    run.watchdog_ends()
    t.true(time.monotonic() - began < 4 * SLOWNESS / 10, "without waiting for anything")
    t.equal((run.said(), os.listdir(t.state / "berm/watch")), ("crash", []))


@case("S4 a controller that is stopped: the leaf is empty after the deadline, and it can go on", deadline_s=60)
def _(t):
    leaf = Leaf(t, 3)
    run = Run(t, leaf)
    t.equal(run.tell("arm"), ["armed"])
    t.equal(run.tell("deadline", 100), ["set"])
    run.child.send_signal(signal.SIGSTOP)
    leaf.reap()
    run.child.send_signal(signal.SIGCONT)
    leaf.folder.rmdir()
    leaf.scope.rmdir()
    t.equal(run.tell("let-go"), ["let-go"])
    t.equal(run.tell("disarm"), ["disarmed"])
    run.child.stdin.close()
    t.equal((run.child.wait(), run.said()), (0, "in progress"))
    run.watchdog_ends()


def join(t, unit, pid):
    """A scope with only that process in it, as the run asks systemd for one."""
    done = t.run("busctl", *MANAGER, "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                 "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail",
                 "1", "PIDs", "au", "1", str(pid), "0")
    t.equal(done.status, 0, str(done))
    t.wait_until(lambda: unit in Path(f"/proc/{pid}/cgroup").read_text(), f"{unit} has it")


# What is killed, while the watchdog has a scope of its own: {name: command of the unit's name}.
ENDS = {
    "systemctl stop of the controller's unit": ["systemctl", *MANAGER, "stop"],
    "SIGKILL to all of the controller's unit": ["systemctl", *MANAGER, "kill", "--signal=KILL"],
}
for what, words in ENDS.items():
    @case(f"F in a scope of its own it survives and finishes: {what}", deadline_s=90)
    def _(t, words=words):
        leaf = Leaf(t, 3)
        unit = f"berm-test-{os.getpid()}"
        own = f"berm-test-{os.getpid()}-watchdog.scope"
        run = Run(t, leaf, "--unit", own,
                  before=["systemd-run", *MANAGER, "--scope", "--quiet", "--collect", f"--unit={unit}"])
        join(t, own, run.watchdog)
        t.equal(run.tell("arm"), ["armed"])
        done = t.run(*words, f"{unit}.scope", deadline_s=60)
        t.equal(done.status, 0, str(done))
        run.child.wait()
        leaf.reap()
        run.watchdog_ends()
        t.true(not leaf.scope.exists() and run.said() == "crash", run.said())


@case("R43 a scope of systemd's, whose maker dies as well: leaf, anchor, scope and unit go", deadline_s=120)
def _(t):
    before(t)
    maker = t.start(BUILD / "tests/lib/scope-drive", "--memory", 64 << 20, "--", "sleep", "1000",
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    said = {}
    while "admitted" not in said:
        line = maker.stdout.readline().decode()
        t.true(line and not line.startswith(("error", "died")), f"{line} {said}")
        word, _, rest = line.strip().partition(" ")
        said[word] = rest

    class Systemds:
        folder = Path(said["scope"]) / "payload"

        def options(self):
            return ["--scope", said["scope"], "--leaf", "payload"]

    run = Run(t, Systemds())
    t.equal(run.tell("arm"), ["armed"])
    for child in (maker, run.child):
        child.kill()
    for child in (maker, run.child):
        child.wait()
    run.watchdog_ends()
    t.equal(run.said(), "crash")
    t.true(not Path(said["scope"]).exists(), "the scope is gone")
    t.wait_until(lambda: not children(), "all are reaped")
    done = check(t, "after")
    t.equal(done.status, 0, str(done))


@case("it does not leave before it is in the scope that was asked for, or the time for that has passed",
      deadline_s=90)
def _(t):
    leaf = Leaf(t, 1)
    run = Run(t, leaf, "--unit", "berm-never-there.scope")
    began = time.monotonic()
    t.equal(run.tell("asked", 3000), ["told"])
    t.equal(run.tell("arm"), ["armed"])
    run.child.kill()
    run.child.wait()
    leaf.reap()
    t.wait_until(lambda: run.said() == "crash", "its work is done")
    run.watchdog_ends()
    t.true(time.monotonic() - began >= 3, "and then it waits")


main()
