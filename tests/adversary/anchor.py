#!/usr/bin/python3
"""The anchor, the duty of the helper that ends a payload when nobody else is left to do it.

Its folders are ordinary ones here, so the files that it writes stay to be looked at; tests/host/t/60-scope.py
has it among real cgroups.
"""

import errno
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import case, main  # noqa: E402

HELPER = os.path.abspath(sys.argv.pop(1))
UNIT = "berm-test-0123456789abcdef.scope"
JOIN_S = 5  # that systemd has to find its number
HAS_FAULTS = bool(os.environ.get("HELPER_HAS_FAULTS"))
UNIT_ORDER = struct.Struct("=c7xq256s")
JOINED = struct.Struct("=c3xi")
CALLS = 40  # more than it makes but for its waits


class Anchor:
    """One of them with its channel; `name` tells it a unit, `hold` gives it a leaf and its scope."""

    def __init__(self, t, unit=None, env=None):
        self.t = t
        self.near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.near.settimeout(20)

        def place():
            os.dup2(far.fileno(), 3)
        self.child = t.start(HELPER, "anchor", pass_fds=[3], preexec_fn=place, env=env)
        far.close()
        if unit:
            self.name(unit)

    def name(self, unit, join_s=JOIN_S):
        self.say(UNIT_ORDER.pack(b"U", time.monotonic_ns() + join_s * 10**9, unit.encode()))
        self.t.equal(self.near.recv(8), b"R")

    def say(self, packet, *fds):
        socket.send_fds(self.near, [packet], fds)

    def hold(self, populated):
        self.scope = self.t.dir / f"scope-{self.child.pid}"
        self.leaf = self.scope / "payload"
        self.leaf.mkdir(parents=True)
        self.kill = self.leaf / "cgroup.kill"
        self.events = self.leaf / "cgroup.events"
        self.kill.write_text("")
        self.events.write_text(f"populated {populated}\nfrozen 0\n")
        self.hold_again()

    def hold_again(self):
        fds = [os.open(folder, os.O_PATH) for folder in (self.leaf, self.scope)]
        self.say(b"H", *fds)
        self.t.equal(self.near.recv(8), b"h")
        for fd in fds:
            os.close(fd)

    def wait(self):
        return self.child.wait(timeout=30)

    def killed(self):
        self.t.wait_until(lambda: self.kill.read_text() == "1", "the anchor to kill the leaf")


def own_unit():
    """A part of this process's own cgroup, so that nobody has to wait; where there is none, of no cgroup."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::/") and line != "0::/":
            return line.rsplit("/", 1)[1]
    return UNIT


@case("R15 when the last that holds its channel is gone, the anchor kills the leaf until it is empty")
def _(t):
    anchor = Anchor(t)
    anchor.hold(populated=1)
    other = anchor.near.dup()
    anchor.near.close()
    anchor.near = other
    anchor.hold_again()  # it answers: somebody holds the channel
    t.equal(anchor.kill.read_text(), "")
    other.close()
    anchor.killed()
    anchor.kill.write_text("")
    anchor.killed()  # again, as long as somebody is in it
    t.equal(anchor.child.poll(), None)
    anchor.events.write_text("populated 0\nfrozen 0\n")
    t.equal(anchor.wait(), 0)


@case("R15 a leaf that was removed meanwhile is no reason to stay")
def _(t):
    anchor = Anchor(t)
    anchor.hold(populated=1)
    anchor.kill.unlink()
    anchor.events.unlink()
    anchor.leaf.rmdir()
    anchor.near.close()
    t.equal(anchor.wait(), 0)


@case("R15 an empty leaf goes with the anchor; told to leave, it touches nothing")
def _(t):
    anchor = Anchor(t)
    anchor.hold(populated=1)
    anchor.say(b"L")
    t.equal(anchor.wait(), 0)
    t.equal((anchor.kill.read_text(), anchor.leaf.is_dir()), ("", True))
    anchor.near.close()


@case("CT-2 told to, the anchor goes into a cgroup itself, and says what the kernel answered")
def _(t):
    anchor = Anchor(t)
    folder = t.dir / "cgroup"
    folder.mkdir()
    here = os.open(folder, os.O_PATH)
    anchor.say(b"J")  # into none: no answer
    anchor.say(b"J", here, here)
    t.equal(JOINED.unpack(anchor.near.recv(64)), (b"j", -errno.ENOENT))
    (folder / "cgroup.procs").write_text("")
    anchor.say(b"J", here, here)
    t.equal(JOINED.unpack(anchor.near.recv(64)), (b"j", 0))
    t.equal((folder / "cgroup.procs").read_text(), "0")  # whoever writes that goes itself
    anchor.name("")  # it is done with that order
    t.true(not any(os.readlink(f"/proc/{anchor.child.pid}/fd/{fd}") == str(folder)
                   for fd in os.listdir(f"/proc/{anchor.child.pid}/fd")), "nothing of it is kept")
    os.close(here)
    anchor.say(b"L")
    t.equal(anchor.wait(), 0)


@case("R15 what a stop of the unit sends does not end the anchor")
def _(t):
    anchor = Anchor(t, own_unit())
    anchor.hold(populated=0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE,
                   signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2):
        anchor.child.send_signal(number)
    anchor.name(own_unit())
    anchor.say(b"L")
    t.equal(anchor.wait(), 0)


@case("T19 while systemd may still look for its number, the anchor does not leave")
def _(t):
    began = time.monotonic()
    told, alone, unknown = Anchor(t, UNIT), Anchor(t, UNIT), Anchor(t)
    told.say(b"L")
    alone.near.close()
    unknown.near.close()  # of whom nobody was told yet
    t.equal(unknown.wait(), 0)
    t.true(time.monotonic() - began < JOIN_S, "at once")
    for anchor in (told, alone):
        t.equal(anchor.wait(), 0)
        t.true(time.monotonic() - began >= JOIN_S, f"after {time.monotonic() - began} s")


@case("T19 when systemd has refused, its number is nobody's to look for: the anchor leaves at once")
def _(t):
    began = time.monotonic()
    anchor = Anchor(t)
    anchor.name(UNIT, join_s=600)
    anchor.name("")
    anchor.say(b"L")
    t.equal(anchor.wait(), 0)
    t.true(time.monotonic() - began < 600, "at once")


@case("T19 where no unit is, the anchor leaves at once, and outlives a stop all the same")
def _(t):
    began = time.monotonic()
    anchor = Anchor(t)
    anchor.name("")
    anchor.child.send_signal(signal.SIGTERM)
    anchor.hold(populated=1)
    anchor.say(b"L")
    t.equal(anchor.wait(), 0)
    t.true(time.monotonic() - began < JOIN_S, "nobody looks for its number")


@case("T19 in its unit the anchor leaves at once")
def _(t):
    began = time.monotonic()
    anchor = Anchor(t, own_unit())
    anchor.say(b"L")
    t.equal(anchor.wait(), 0)
    t.true(own_unit() == UNIT or time.monotonic() - began < JOIN_S, own_unit())


@case("R15 orders that are none, folders that were not asked for: nothing is killed, nothing kept")
def _(t):
    anchor = Anchor(t)
    anchor.hold(populated=1)
    here = os.open(t.dir, os.O_PATH)
    for packet, fds in ((b"?", ()), (b"?", (here, here)), (b"H", ()), (b"H", (here,)), (b"H", (here,) * 3),
                        (b"J", (here,)), (b"U", ()), (b"Unit", ()), (UNIT_ORDER.pack(b"U", 0, b"a" * 256), ()),
                        (UNIT_ORDER.pack(b"U", 0, b"a" * 255) + b"b", ()), (b"U" + b"a" * 4000, (here,))):
        anchor.say(packet, *fds)
    anchor.hold_again()  # the first answer since
    held = [os.readlink(f"/proc/{anchor.child.pid}/fd/{fd}")
            for fd in os.listdir(f"/proc/{anchor.child.pid}/fd")]
    t.true(str(t.dir) not in held, held)
    t.equal((sum(str(t.dir) in one for one in held), len(held)), (2, 6), held)
    t.equal(anchor.kill.read_text(), "")
    os.close(here)
    anchor.say(b"L")
    t.equal(anchor.wait(), 0)


@case("the helper has no duty without a word, and none of another word")
def _(t):
    for words in ((), ("",), ("anchors",), ("launcher2", "anchor")):
        t.equal(t.run(HELPER, *words).status, 2, words)


def with_fault(t, number):
    """An anchor whose Nth call fails; None when it did not come so far as to hold its folders."""
    anchor = Anchor(t, env={"BERM_FAULT": f"anchor:{number}:EIO"})
    anchor.near.settimeout(1)
    try:
        anchor.name(own_unit())
        anchor.hold(populated=1)
    except OSError:
        return None  # it ended, or does not answer: the controller takes either for a refusal
    return anchor


if HAS_FAULTS:
    @case("R15 each call of the anchor fails once, and the leaf is killed all the same", deadline_s=600)
    def _(t):
        anchors = [one for number in range(1, CALLS) if (one := with_fault(t, number))]
        t.true(len(anchors) > CALLS // 2, f"only {len(anchors)} of {CALLS} came so far that there was a leaf")
        for anchor in anchors:
            anchor.near.close()
        for anchor in anchors:
            anchor.killed()
            anchor.events.write_text("populated 0\nfrozen 0\n")
        t.equal({anchor.wait() for anchor in anchors}, {0})


main()
