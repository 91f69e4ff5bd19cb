#!/usr/bin/python3
"""The watchdog by itself: a controller that does nothing else (tests/lib/watch-drive) dies at each of its
system calls, the watchdog dies at each of its own, and both at once.

Here the leaf is a folder that looks like one, in which a thread plays the kernel; tests/host has real ones.
"""

import fcntl
import json
import os
import re
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE)]
from place import CLEAN, DRIVE, KILL_AT, LEFT, OURS, PROVISIONAL, Drive, Leaf, NamedScope, Place, record  # noqa: E402
from tap import SLOWNESS, case, children, main  # noqa: E402

SYS_READ, SYS_FSTAT, SYS_SENDTO, SYS_NEWFSTATAT = 0, 5, 44, 262


@case("WD-1 WD-2 a start and an end: identities are reported, manifests are durable, nothing stays")
def _(t):
    place = Place(t)
    leaf = Leaf(t)
    drive = Drive(t, *place.options(*leaf.options(), directories=2))
    t.equal(drive.first[0], "ready")
    names = drive.first[3:]
    t.equal(sorted(names), sorted(os.listdir(t.dir / "made")))
    t.true(all(re.fullmatch("berm-run001-[0-9a-f]{32}", name) for name in names), names)
    t.equal([(t.dir / "made" / name).stat().st_mode & 0o777 for name in names], [0o700] * 2)
    manifest = place.state / place.manifests()[0]
    first = manifest.read_bytes()
    t.equal((manifest.stat().st_mode & 0o777, first[:8]), (0o600, b"bermwd1\0"))
    for name in names:
        t.contains(first, name.encode())
    t.true(not place.lock_is_free(), "the lock is held")
    t.equal(drive.tell("arm"), ["armed"])
    armed = (place.state / place.manifests()[0]).read_bytes()
    t.contains(armed, str(leaf.scope).encode())
    t.contains(armed, CLEAN.encode())
    t.equal(drive.tell("fd"), ["holds"])
    t.equal(drive.tell("disarm")[0], "failed", "the leaf is still there")
    t.equal((drive.tell("fd"), len(place.manifests()), place.said()), (["holds"], 1, {PROVISIONAL}))
    drive.leave()  # and dies, as far as its watchdog can see
    t.true(leaf.killed.wait(20 * SLOWNESS), "it went on watching")
    place.nothing_left()
    t.equal(place.said(), {CLEAN})


@case("a watchdog is nobody's child and holds nothing of the terminal's; the signals of an end do not end it")
def _(t):
    place = Place(t)
    drive = Drive(t, *place.options())
    proc = Path(f"/proc/{drive.watchdog}")
    parent, group, session = proc.joinpath("stat").read_text().rpartition(")")[2].split()[1:4]
    t.equal((int(parent), int(group), int(session)), (os.getpid(), drive.watchdog, drive.watchdog))
    t.equal({os.readlink(proc / "fd" / n) for n in "012"}, {"/dev/null"})
    t.equal(os.readlink(proc / "cwd"), "/")
    t.contains(os.readlink(proc / "exe"), "memfd:berm-helper")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        os.kill(drive.watchdog, number)
    t.equal(drive.tell("fd", 50), ["holds"])
    t.equal(drive.tell("disarm"), ["disarmed"])
    drive.watchdog_ends()
    drive.leave()
    place.nothing_left()


@case("WD-5 S1 the controller is killed: the leaf is emptied, what was made is removed, both slots say so")
def _(t):
    place, leaf = Place(t), Leaf(t)
    drive = Drive(t, *place.options(*leaf.options(), directories=2))
    t.equal(drive.tell("arm"), ["armed"])
    inner = t.dir / "made" / drive.first[3] / "a/b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (inner / "link").symlink_to("/etc")
    drive.kill()
    t.true(leaf.killed.wait(20 * SLOWNESS), "the leaf is killed")
    drive.watchdog_ends()
    place.nothing_left()
    t.equal(place.said(), {CLEAN})


@case("WD-5 a scope that was named and never armed: the controller dies before it is made, or after")
def _(t):
    for made in (False, True):
        place, scope = Place(t), NamedScope(t)
        drive = Drive(t, *place.options(*scope.options()))
        if made:
            scope.make()
        drive.kill()
        drive.watchdog_ends()
        t.equal((scope.killed.is_set(), scope.folder.exists()), (made, False), made)
        place.nothing_left()
        t.equal(place.said(), {CLEAN})


@case("WD-5 a disarming is refused as long as a scope is there that was never armed")
def _(t):
    place, scope = Place(t), NamedScope(t)
    drive = Drive(t, *place.options(*scope.options()))
    scope.make()
    said = drive.tell("disarm")
    t.contains(" ".join(said), "the scope is still there")
    t.equal((drive.tell("fd"), len(place.manifests()), scope.killed.is_set()), (["holds"], 1, False))
    scope.remove()
    t.equal(drive.tell("disarm"), ["disarmed"])
    drive.leave()
    place.nothing_left()
    t.equal(place.said(), {PROVISIONAL})


@case("WD-5 a disarming is refused as long as an armed scope is there that nobody else removes")
def _(t):
    place, leaf = Place(t), Leaf(t)
    drive = Drive(t, *place.options(*leaf.options(), "--scope-parent", t.dir))
    t.equal(drive.tell("arm"), ["armed"])
    leaf.folder.rename(t.dir / "gone")
    (t.dir / "gone/cgroup.events").unlink()
    t.contains(" ".join(drive.tell("disarm")), "the scope is still there")
    (leaf.scope / "cgroup.events").unlink()
    t.equal(drive.tell("disarm"), ["disarmed"])
    drive.leave()
    place.nothing_left()


@case("RS-5 S6 a success that was published before the disarming is replaced; another run's record is not")
def _(t):
    place = Place(t)
    drive = Drive(t, *place.options())
    place.slots[0].unlink()                       # another inode, as every publication makes one
    place.slots[0].write_text(record(outcome="success", note='\\"run_id\\": \\"run002\\"'))
    other = json.dumps(OURS | {"run_id": "run002", "note": "run001"})
    place.slots[1].write_text(other)
    drive.kill()
    drive.watchdog_ends()
    place.nothing_left()
    t.equal([slot.read_text() for slot in place.slots], [CLEAN, other])


@case("RS-5 what is no record of this run is left alone: no file, a link, a folder, other bytes")
def _(t):
    place = Place(t)
    target = t.dir / "target"
    for there in ("nothing", "link", "folder", "bytes"):
        drive = Drive(t, *place.options())
        for slot in place.slots:
            slot.unlink()
        target.write_text(PROVISIONAL)
        if there == "link":
            place.slots[0].symlink_to(target)
        elif there == "folder":
            place.slots[0].mkdir()
        elif there == "bytes":
            place.slots[0].write_text("run001 run_id")
        drive.kill()
        drive.watchdog_ends()
        t.equal(target.read_text(), PROVISIONAL, there)
        t.equal((place.slots[0].is_symlink(), place.slots[0].is_dir(), place.slots[0].exists(),
                 place.slots[1].exists()),
                (there == "link", there == "folder", there != "nothing", False), there)
        if place.slots[0].is_dir():
            place.slots[0].rmdir()
        for slot in place.slots:
            slot.unlink(missing_ok=True)
            slot.write_text(PROVISIONAL)
        place.nothing_left(there)


@case("WD-5 a directory that is another by now is left alone, and so is what a link leads to")
def _(t):
    place = Place(t)
    drive = Drive(t, *place.options(directories=2))
    first, second = (t.dir / "made" / name for name in drive.first[3:])
    first.rename(t.dir / "moved")
    first.mkdir()
    (first / "precious").write_text("x")
    second.rmdir()
    second.symlink_to(first)
    drive.kill()
    drive.watchdog_ends()
    t.equal((first / "precious").read_text(), "x")
    t.true(second.is_symlink() and (t.dir / "moved").is_dir(), "both are as they were")
    t.equal((place.manifests(), place.said()), ([], {CLEAN}))


@case("what cannot be ended is said to be left, and the manifest stays for `berm recover`", deadline_s=120)
def _(t):
    place, leaf = Place(t), Leaf(t, deaf=True)
    drive = Drive(t, *place.options(*leaf.options()))
    t.equal(drive.tell("arm"), ["armed"])
    drive.kill()
    drive.watchdog_ends(60)
    t.equal((len(place.manifests()), place.said()), (1, {LEFT}))


@case("TR-4 WD-5 what claims the lock goes with it when nothing is left, and nobody else's in its place")
def _(t):
    claim = t.dir / "slots/claim"
    for stays in (False, True):
        place = Place(t)
        claim.symlink_to("ours")
        drive = Drive(t, *place.options("--claim", claim))
        t.equal(drive.first[0], "ready")
        if stays:
            claim.with_name("other").symlink_to("theirs")
            claim.with_name("other").rename(claim)
        drive.kill()
        drive.watchdog_ends()
        t.true(place.lock_is_free(), "it is free")
        t.equal(os.readlink(claim) if claim.is_symlink() else None, "theirs" if stays else None)


@case("TR-4 WD-5 a lock that was let go and is another's by now: the claim is not touched")
def _(t):
    place, claim = Place(t), t.dir / "slots/claim"
    claim.symlink_to("ours")
    drive = Drive(t, *place.options("--claim", claim))
    t.equal(drive.tell("unlock"), ["unlocked"])
    with open(t.dir / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        drive.kill()
        drive.watchdog_ends()
        t.equal(os.readlink(claim), "ours")


@case("WD-3 the lock is another's: nothing stays, and who holds it keeps it")
def _(t):
    place = Place(t)
    with open(t.dir / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        drive = Drive(t, *place.options())
        t.equal(drive.first[0], "failed")
        t.contains(" ".join(drive.first), "cannot take the lock")
        t.equal(drive.child.wait(), 1)
        t.true(not place.lock_is_free(), "it is held")
    place.nothing_left()
    t.equal(place.said(), {PROVISIONAL})


@case("WD-3 one that is not ready in time is ended, and what it reported is removed")
def _(t):
    place = Place(t)
    drive = Drive(t, *place.options("--ready-ms", 0))
    t.equal(drive.first[0], "failed")
    t.equal(drive.child.wait(), 1)
    t.wait_until(lambda: not children(), "the watchdog ends")
    t.equal(os.listdir(t.dir / "made"), [])
    t.equal(place.said(), {PROVISIONAL})


@case("S4 a controller that is stopped: at the deadline the leaf is killed, and it lives on")
def _(t):
    place, leaf = Place(t), Leaf(t)
    drive = Drive(t, *place.options(*leaf.options()))
    t.equal(drive.tell("arm"), ["armed"])
    t.equal(drive.tell("deadline", 50), ["set"])
    drive.kill(signal.SIGSTOP)
    t.true(leaf.killed.wait(20 * SLOWNESS), "the leaf is killed")
    t.equal(drive.child.poll(), None, "the controller is there")
    (t.dir / "gone/cgroup.events").unlink()
    drive.kill(signal.SIGCONT)
    t.equal(drive.tell("let-go"), ["let-go"])
    t.equal(drive.tell("disarm"), ["disarmed"])
    drive.leave()
    place.nothing_left()
    t.equal(place.said(), {PROVISIONAL})


@case("S4 and when it stays so it is ended, and the crash is told", deadline_s=120)
def _(t):
    place, leaf = Place(t), Leaf(t)
    drive = Drive(t, *place.options(*leaf.options()))
    t.equal(drive.tell("arm"), ["armed"])
    t.equal(drive.tell("deadline", 50), ["set"])
    drive.kill(signal.SIGSTOP)
    drive.watchdog_ends(60)
    t.equal(drive.child.wait(), -signal.SIGKILL)
    place.nothing_left()
    t.equal(place.said(), {CLEAN})


def sweep(t, place, duty=(), too=(), options=(), orders="arm\nlet-go\ndisarm\n", prepare=None, judge=None):
    """Once for each system call: kill right before it."""
    out = t.dir / "out"
    number, killed = 0, 0
    while True:
        number += 1
        place.renew()
        leaf = prepare() if prepare else []
        done = t.run(KILL_AT, *duty, *too, "--nth", number, out, DRIVE, *place.options(*options, *leaf),
                     stdin=orders.encode())
        words = done.out.decode().splitlines()
        died = out.read_text().startswith("killed")
        judge(number, died, words, done)
        killed += died
        if not died:
            return killed


@case("WD-6 S1 the controller dies before each of its system calls", deadline_s=600)
def _(t):
    place = Place(t)
    seen = {}
    before_the_order = {SYS_READ, SYS_FSTAT, SYS_NEWFSTATAT, SYS_SENDTO}

    def judge(number, died, words, done):
        place.nothing_left(f"call {number}: {words} {done}")
        said = place.said()
        t.true(len(said) == 1 and said <= {PROVISIONAL, CLEAN}, f"call {number}: {said}")
        last, told = words[-1].split()[0] if words else "nothing", said == {CLEAN}
        call = int((t.dir / "out").read_text().split()[1])
        # From `ready` on it is told, until the order to disarm was sent: then its answer cannot be known.
        t.true(told or last != "ready" or call not in before_the_order, f"call {number}, {call}: {words}")
        t.true(not told or last != "disarmed", "after the disarming nothing is changed")
        seen[last, told] = seen.get((last, told), 0) + 1

    killed = sweep(t, place, orders="disarm\n", judge=judge)
    t.true(killed > 80, killed)
    for (last, told), count in sorted(seen.items()):
        print(f"# last word {last}: {count} times the crash {'was told' if told else 'was not told'}")
    t.true(("ready", True) in seen and ("nothing", True) in seen, seen)


@case("S2 the watchdog dies before each of its system calls: the controller notices, and nothing is left",
      deadline_s=600)
def _(t):
    place = Place(t)
    unreported = []

    def judge(number, died, words, done):
        t.wait_until(lambda: not children(), "all end")
        t.true(not died or any(word.startswith("failed 7") for word in words) or "disarmed" in words,
               f"call {number}: {words} {done}")
        t.equal(place.said(), {PROVISIONAL})
        # Until it reported its directories, and between the making and the report nobody but the manifest knows of it.
        left = place.manifests() + os.listdir(t.dir / "made")
        if left:
            unreported.append(number)
            t.equal(t.berm("recover", "--runs", "--json").json()["left"], 0, f"call {number}")
        place.nothing_left(f"call {number}")

    killed = sweep(t, place, duty=("--duty", "watchdog"), orders="fd 0\ndisarm\n", judge=judge)
    t.true(killed > 60, killed)
    print(f"# of {killed}, left to the manifest: {unreported}")
    t.true(len(unreported) <= 20, unreported)


main()
