#!/usr/bin/python3
"""A kernel call of the watchdog fails once, or claims success and does nothing: each fifth one, with one error, in
the short form; each, with four, in the long one. Then each call of `berm recover` fails, while a run lives.

Whichever it is of the watchdog: it ends by itself; what it could not do stands in its manifest, and `berm recover --runs` does it then;
no crash after `ready` is untold, and nothing is told of a run that was disarmed.
"""

import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE.parent / "crash")]
from place import CLEAN, DRIVE, PROVISIONAL, Drive, Leaf, Place  # noqa: E402
from tap import SLOWNESS, case, children, main  # noqa: E402

LONG = bool(os.environ.get("BERM_TEST_LONG"))
ERRNOS = ["EIO", "ENOSPC", "EPERM", "ENOENT"] if LONG else ["EIO"]
STEP = 1 if LONG else 5
LATE = 21 // STEP  # looks beyond the calls of a run without a fault, since a fault adds some


def one(t, place, fault, orders):
    """The words of one controller; it dies at the end of its orders."""
    place.renew()
    child = t.start(DRIVE, *place.options(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    env={"BERM_FAULT": fault})
    out = child.communicate(orders, timeout=60 * SLOWNESS)[0].decode()
    t.started.remove(child)
    t.wait_until(lambda: not children(), f"{fault}: the watchdog ends", deadline_s=60)
    return out.split("\n")


def settle(t, place, fault):
    """What is left is healed by the next recover, which has no fault."""
    recorded = [name for name in place.manifests() if name.endswith(".watch")]
    done = t.berm("recover", "--runs", "--json", deadline_s=60)
    t.equal((done.status, done.json()["healed"]), (0, len(recorded)), f"{fault}: {done}")
    place.nothing_left(fault)
    return bool(recorded)


def sweep(t, orders, judge):
    """Each call fails once, with each error, until LATE runs in a row were like one without a fault.

    judge(what, words, before, after, healed) fails on what must not be, and answers whether the run was
    such a one; before and after are what the slots said before recover and after it.
    """
    place = Place(t)
    for errno in [*ERRNOS, "noop"]:
        number, kept, same = 0, 0, 0
        while same < LATE:
            number += STEP
            fault = f"watchdog:{number}:{errno}"
            words = one(t, place, fault, orders)
            before = place.said()
            healed = settle(t, place, fault)
            kept += healed
            same = same + 1 if judge(f"{fault}: {words}", words, before, place.said(), healed) else 0
        print(f"# {errno}: {number - LATE * STEP} calls, {kept} times the manifest was left to recover")
        t.true(number > 60, number)


@case("each call of the watchdog fails once: a run that is disarmed", deadline_s=1800)
def _(t):
    def judge(what, words, before, _, healed):
        t.true(before <= {PROVISIONAL, CLEAN}, what)
        t.true("disarmed" not in words or before == {PROVISIONAL}, what)
        return words[1:] == ["disarmed", ""] and not healed

    sweep(t, b"disarm\n", judge)


@case("each call of the watchdog fails once: its controller dies", deadline_s=1800)
def _(t):
    def judge(what, words, _, after, healed):
        ready = words[0].startswith("ready")
        # After `ready` it is told, at the latest by recover.
        t.true(after == {CLEAN} if ready or healed else after <= {PROVISIONAL, CLEAN},
               f"{what} {[text[:200] for text in after]}")
        return ready and not healed

    sweep(t, b"", judge)


# ENOENT and its like are left out: they are how the kernel says that something is gone.
UNSEEN = ["EIO", "EPERM", "ENOSYS", "EMFILE", "EACCES"] if LONG else ["EIO", "ENOSYS"]


@case("WD-5 each call of recover fails once: a run that lives is not taken for dead", deadline_s=1800)
def _(t):
    place, leaf = Place(t), Leaf(t)
    drive = Drive(t, *place.options(*leaf.options()))
    t.equal(drive.tell("arm"), ["armed"])
    (name,) = place.manifests()
    manifest = (place.state / name).read_bytes()
    plain = t.berm("recover", "--runs", "--json").json()
    t.equal(plain["active"], 1, plain)
    for errno in UNSEEN:
        number, hindered, same = 0, 0, 0
        while same < 21:
            number += 1
            done = t.berm("recover", "--runs", "--json", env={"BERM_FAULT": f"controller:{number}:{errno}"})
            t.equal((place.manifests(), place.said(), leaf.killed.is_set(), len(os.listdir(t.dir / "made"))),
                    ([name], {PROVISIONAL}, False, 1), f"call {number}: {done}")
            t.equal((place.state / name).read_bytes(), manifest, f"call {number}: {done}")
            as_ever = done.status == 0 and done.json() == plain
            hindered += not as_ever
            same = same + 1 if as_ever else 0
        print(f"# {errno}: {number - 21} calls, {hindered} times it could not look or say")
        t.true(hindered > 15, hindered)
    drive.kill()
    drive.watchdog_ends()
    place.nothing_left()


main()
