"""What the tests of a crash share: a run's places, a controller that only has a watchdog
(tests/lib/watch-drive), and a folder that looks like a leaf.

The two programs are the first arguments of each test.
"""

import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time

from tap import SLOWNESS, children

DRIVE, KILL_AT = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
OURS = {"schema": "berm.run/v1", "run_id": "run001"}


def record(**more):
    return json.dumps(OURS | more, indent=1) + "\n"


PROVISIONAL, CLEAN, LEFT = record(says="in progress"), record(says="crash"), record(says="left")


class Place:
    """What one run has: slots, a folder of manifests, one for its directories, a lock."""

    def __init__(self, t):
        self.t = t
        self.state = t.state / "berm/watch"
        self.state.mkdir(parents=True, exist_ok=True)
        for name in ("slots", "made"):
            (t.dir / name).mkdir(exist_ok=True)
        (t.dir / "clean").write_text(CLEAN)
        (t.dir / "left").write_text(LEFT)
        self.slots = [t.dir / "slots/report.json", t.dir / "slots/record.json"]
        self.renew()

    def renew(self):
        for slot in self.slots:
            slot.unlink(missing_ok=True)
            slot.write_text(PROVISIONAL)

    def options(self, *more, directories=1):
        return ["--state", self.state, "--report", self.slots[0], "--record", self.slots[1],
                "--texts", self.t.dir / "clean", self.t.dir / "left", "--lock", self.t.dir / "lock",
                *["--directory", self.t.dir / "made"] * directories, *more]

    def manifests(self):
        return os.listdir(self.state)

    def said(self):
        return {slot.read_text() for slot in self.slots}

    def lock_is_free(self):
        with open(self.t.dir / "lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def nothing_left(self, what=""):
        self.t.wait_until(lambda: not children(), f"{what}: the watchdog ends")
        self.t.equal((self.manifests(), os.listdir(self.t.dir / "made")), ([], []), what)
        self.t.true(self.lock_is_free(), f"{what}: the lock is free")
        self.t.equal(sorted(os.listdir(self.t.dir / "slots")), ["record.json", "report.json"], what)


class Drive:
    """A controller, and what its watchdog said."""

    def __init__(self, t, *options, wait=True, **popen):
        self.t = t
        self.child = t.start(DRIVE, *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
        self.first = self.answer() if wait else []
        if self.first[:1] == ["ready"]:
            self.watchdog = int(self.first[1])
            self.pidfd = os.pidfd_open(self.watchdog)

    @staticmethod
    def command(place):
        return [DRIVE, *place.options()]

    def answer(self):
        return self.child.stdout.readline().decode().split()

    def tell(self, *words):
        self.child.stdin.write(" ".join(map(str, words)).encode() + b"\n")
        self.child.stdin.flush()
        return self.answer()

    def kill(self, number=signal.SIGKILL):
        self.child.send_signal(number)
        if number == signal.SIGKILL:
            self.child.wait()

    def leave(self):
        """It ends of itself, as after a run."""
        self.child.stdin.close()
        self.t.equal(self.child.wait(), 0)

    def watchdog_ends(self, deadline_s=20):
        self.t.true(select.select([self.pidfd], [], [], deadline_s * SLOWNESS)[0], "the watchdog ends")
        os.close(self.pidfd)


def wait_for_order(order):
    """The kernel tells nobody that such a file was written: look until it was (True), or the case is over."""
    while order.exists() and order.stat().st_size == 0:
        time.sleep(0.002)
    return order.exists()


class NamedScope:
    """The path of a scope that was asked for and not armed; and, once made, a folder that looks like it, with a
    kernel for it: whoever writes 1 to its cgroup.kill empties it, and then it is gone."""

    def __init__(self, t):
        self.folder = t.dir / "named.scope"
        self.killed = threading.Event()

    def make(self):
        self.folder.mkdir()
        (self.folder / "cgroup.events").write_text("populated 1\nfrozen 0\n")
        (self.folder / "cgroup.kill").touch()
        threading.Thread(target=self.rule, daemon=True).start()

    def rule(self):
        if wait_for_order(self.folder / "cgroup.kill"):
            self.remove()
            self.killed.set()

    def remove(self):
        gone = self.folder.rename(self.folder.parent / "gone.scope")
        (gone / "cgroup.events").write_text("populated 0\n")

    def options(self):
        return "--scope-path", self.folder


class Leaf:
    """A folder that looks like a scope with a leaf, and a kernel for it: whoever writes 1 to cgroup.kill
    empties it; then the folder is gone, as after `systemctl stop`."""

    def __init__(self, t, deaf=False):
        self.scope = t.dir / "scope"
        self.folder = self.scope / "leaf"
        self.folder.mkdir(parents=True)
        self.deaf = deaf
        (self.folder / "cgroup.events").write_text("populated 1\nfrozen 0\n")
        (self.scope / "cgroup.events").write_text("populated 1\nfrozen 0\n")
        (self.folder / "cgroup.kill").touch()
        self.killed = threading.Event()
        threading.Thread(target=self.rule, daemon=True).start()

    def rule(self):
        if not wait_for_order(self.folder / "cgroup.kill"):
            return
        if not self.deaf:
            (self.scope / "cgroup.events").unlink()
            self.folder.rename(self.scope.parent / "gone")
            (self.scope.parent / "gone/cgroup.events").write_text("populated 0\n")
        self.killed.set()

    def options(self):
        return "--scope", self.scope, "--leaf", "leaf"
