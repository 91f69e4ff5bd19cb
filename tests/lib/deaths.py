"""Managed runs in the virtual host, and who of them is killed: berm, its watchdog, both, or all of the
scope that a person's session stands in.
"""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
from pathlib import Path

from cgroups import ROOT, TREE
from duel import BUILD
from points import OLD, word_of
from scopes import scope, stands_in
from tap import Failed, berm_path, children

CHECK = Path(__file__).resolve().parent.parent / "crash/check-clean"
KILL_AT = BUILD / "tests/lib/kill-at"
AS = ["--user", "61234:61234"] if ROOT else []
SYS_CLONE3 = 435

# How kill-at comes to kill each of them, and what stands before berm then.
VICTIMS = {
    "controller": ([], []),
    "watchdog": (["--duty", "watchdog", "--beside"], []),
    "both": (["--duty", "watchdog", "--beside", "--too"], []),
    "session": (["--cgroup"], scope()),
}


def read(path):
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def helpers(duty):
    """Pids of those that live."""
    wanted = b"berm-helper\0" + duty.encode()
    return [int(one.name) for one in Path("/proc").glob("[0-9]*") if read(one / "cmdline").startswith(wanted)]


class Deaths:
    """Places of runs as they were before, and a bystander whom nobody may signal."""

    def __init__(self, t):
        self.t = t
        t.dir.chmod(0o755)
        self.out, self.watch = t.dir / "out", t.state / "berm/watch"
        for folder in (self.out, self.watch):
            folder.mkdir(parents=True, exist_ok=True)
        self.report = self.out / "r.json"
        self.report.write_text(OLD)
        self.bystander = t.start("sleep", "infinity")  # longer than any sweep takes
        words = ["--folder", self.out, "--folder", self.watch, "--slot", self.report]
        t.equal(t.run(CHECK, "before", t.dir / "notes", *words).status, 0)

    def command(self, words):
        for path in self.out.iterdir():
            path.unlink()
        self.report.write_text(OLD)
        return [berm_path(), "run", "--quiet", "--require", "managed", *AS, "--report", self.report, *words]

    def at_point(self, victim, words, n, nth=1):
        """The victim dies at a boundary of berm's; what kill-at says of that."""
        how, before = VICTIMS[victim]
        self.t.run(KILL_AT, *how, "--point", n, "--nth", nth, self.t.dir / "killed", *before,
                   *self.command(words), deadline_s=60)
        return (self.t.dir / "killed").read_text()

    def points(self, words):
        """The boundaries that such a run comes to."""
        done = self.t.run(KILL_AT, "--points", self.t.dir / "killed", *self.command(words), deadline_s=60)
        came = re.findall(r"^point (\d+) ", (self.t.dir / "killed").read_text(), re.M)
        self.t.equal(done.status in (0, 120), True, str(done))
        return [int(n) for n in came]

    def all_end(self, what):
        """Whoever lost its parent came to this test, and is reaped when it ends."""
        def only_the_bystander():
            return [name for _, name in children()] == ["sleep"]
        try:
            self.t.wait_until(only_the_bystander, f"{what}: all end", deadline_s=30)
        except Failed as failed:
            raise Failed(f"{failed}; there are {list(children())}") from None

    def after(self, victim, what):
        """When all has ended and was healed: the report's word, and how many runs needed healing."""
        t = self.t
        self.all_end(what)
        healed = 0
        if victim in ("both", "session"):
            done = t.berm("recover", "--runs", "--json")
            t.equal((done.status, done.json()["left"], done.json()["active"]), (0, 0, 0), f"{what}: {done}")
            healed = done.json()["healed"]
            self.all_end(what)
        t.equal(os.listdir(self.watch), [], what)
        t.equal(self.bystander.poll(), None, f"{what}: nobody else is signalled")
        return word_of(self.report.read_text()), healed

    def check(self, *options):
        return self.t.run(CHECK, "after", self.t.dir / "notes", *options, deadline_s=60)

    def nothing_left(self, what, says):
        done = self.check("--slot-says", says)
        self.t.equal((done.status, done.out.decode()), (0, ""), what)


def kill_session(child):
    """Everything in the scope that it stands in, if it is there already."""
    folder = TREE / stands_in(child.pid).removeprefix("/")
    if folder.suffix == ".scope":
        with contextlib.suppress(FileNotFoundError):  # all in it ended by themselves meanwhile
            (folder / "cgroup.kill").write_text("1")
    else:
        child.kill()


def held_helpers(duty):
    """Pidfds of those that live: what was looked at is what is signalled."""
    held = []
    for pid in helpers(duty):
        with contextlib.suppress(ProcessLookupError):
            held.append(os.pidfd_open(pid))
            if pid not in helpers(duty):  # another has the number by now
                os.close(held.pop())
    return held


def kill_now(victim, child):
    """From outside, wherever it is; a watchdog that is not there is not killed."""
    watchdogs = held_helpers("watchdog") if victim in ("watchdog", "both") else []
    last = [signal.SIGKILL] if victim == "watchdog" else [signal.SIGSTOP, signal.SIGKILL]  # it must notice nothing

    def tell(number):
        for pidfd in watchdogs:
            with contextlib.suppress(ProcessLookupError):  # it left by itself meanwhile
                signal.pidfd_send_signal(pidfd, number)
    tell(last[0])
    if victim == "session":
        kill_session(child)
    elif victim != "watchdog":
        child.kill()
    if victim == "both":
        tell(last[1])
    for pidfd in watchdogs:
        os.close(pidfd)


def process_with(pid, argv):
    """A process of just that number, which must be free: clone3(2) with set_tid, as root."""
    numbers = (ctypes.c_int32 * 1)(pid)
    arguments = (ctypes.c_uint64 * 10)(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(numbers), 1)
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.syscall(SYS_CLONE3, ctypes.byref(arguments), ctypes.sizeof(arguments))
    if made == 0:
        os.execv(argv[0], argv)
    if made != pid:
        raise Failed(f"no process {pid}: {os.strerror(ctypes.get_errno())}")


def lives(pid):
    """True while a child has not ended."""
    return os.waitpid(pid, os.WNOHANG) == (0, 0)


def start_and_wait(t, command):
    """A run whose payload said that it is there."""
    child = t.start(*command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.equal(child.stdout.readline(), b"ready\n")
    return child
