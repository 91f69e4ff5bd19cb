"""Scopes of runs in the virtual host, made by tests/lib/scope-drive.c and compared with what the kernel says.

A test that imports this moves into a leaf of its own unit, which is delegated: PARENT is a cgroup of its own.
"""

import os
import re
import subprocess
from pathlib import Path

from cgroups import MANAGER, TREE, tree
from duel import BUILD
from tap import Failed

DRIVE = str(BUILD / "tests/lib/scope-drive")
MIB = 1 << 20
PAGE = os.sysconf("SC_PAGESIZE")
SYSTEMD, DELEGATED = "linux-systemd-cgroup-v2", "linux-delegated-cgroup-v2"


class NothingLeft:
    """Around what is run: no process, no cgroup and no unit is left of it."""

    def __init__(self, t):
        self.t = t

    def __enter__(self):
        self.pids, self.folders = tree()

    def __exit__(self, failed, *_):
        if not failed:
            self.t.wait_until(lambda: tree()[1] <= self.folders, "cgroups to be gone")
            self.t.wait_until(lambda: tree()[0] <= self.pids, "processes to be gone")
            listed = self.t.run("systemctl", *MANAGER, "list-units", "--all", "--no-legend", "berm-*")
            self.t.equal(listed.out, b"", "units")


class Drive:
    """A scope and its payload; orders and answers are lines."""

    def __init__(self, t, *options, payload=("sleep", "1000"), before=(), env=None):
        self.t, self.said = t, []
        self.child = t.start(*before, DRIVE, *options, "--", *payload, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, bufsize=0)
        self.lines = iter(self.child.stdout.readline, b"")

    def until(self, word):
        """What stands behind the word in the next line that begins with it."""
        for line in self.lines:
            text = line.decode(errors="replace").rstrip("\n")
            self.said.append(text)
            if text.split(" ")[0] == word:
                return text[len(word) + 1:]
        raise Failed(f"no '{word}' was said: {self.said}")

    def order(self, order, word):
        self.child.stdin.write(f"{order}\n".encode())
        return self.until(word)

    def values(self, order):
        text = self.order(order, "counters" if order == "counters" else "events")
        return {name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", text)}

    def made(self):
        """Once the payload is in the leaf: its adapter, and the leaf's folder."""
        self.adapter = self.until("offer").split(" ")[0]
        self.anchor, self.gate, self.watchdog = map(int, self.until("pids").split())
        self.scope = Path(self.until("scope"))
        self.unit = self.until("unit")
        self.limits = self.until("limits")
        self.until("admitted")
        self.leaf = self.scope / "payload"
        return self

    def end(self):
        self.t.contains(self.order("kill", "empty"), "after")
        return self.leave()

    def leave(self):
        removed = self.order("remove", "removed")
        self.t.true(removed.startswith("gone=1 leaf=1 anchor=1 folder=1 unit=1 left=;"), removed)
        self.child.stdin.close()
        self.t.equal(self.child.wait(), 0)


def has(leaf, name):
    return (leaf / name).read_text().strip()


def stands_in(pid):
    return Path(f"/proc/{pid}/cgroup").read_text().strip().removeprefix("0::")


def scope(*properties):
    """The words before a command that is to stand in a scope of its own."""
    return ["systemd-run", *MANAGER, "--scope", "--quiet", "--collect",
            *(f"--property={p}" for p in properties)]


# This test's own unit is delegated: it moves into a leaf, and the unit is a cgroup of one's own.
PARENT = TREE / Path("/proc/self/cgroup").read_text().strip().removeprefix("0::/")
(PARENT / "own").mkdir()
for one in (PARENT / "cgroup.procs").read_text().split():
    (PARENT / "own/cgroup.procs").write_text(one)


def check_limits(t, drive, memory, high, pids):
    """CT-2: the kernel has them, and says so to us as well."""
    wanted = {"memory.max": str(memory // PAGE * PAGE), "memory.high": str(high // PAGE * PAGE),
              "pids.max": str(pids), "memory.swap.max": "0", "memory.oom.group": "1",
              "cgroup.max.descendants": "0"}
    t.equal({name: has(drive.leaf, name) for name in wanted}, wanted)
    t.equal(drive.limits, f"{wanted['memory.max']} {wanted['memory.high']} {pids}")
    above = {"memory.max": str(memory // PAGE * PAGE + 64 * MIB), "pids.max": str(pids + 64),
             "memory.swap.max": "0", "memory.oom.group": "0"}
    t.equal({name: has(drive.scope, name) for name in above}, above)
    path = "/" + str(drive.scope.relative_to(TREE))
    t.equal(stands_in(drive.gate), path + "/payload")
    t.equal(stands_in(drive.anchor), path + "/anchor")
    t.equal(has(drive.leaf, "cgroup.procs"), str(drive.gate))
