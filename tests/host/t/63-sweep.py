#!/usr/bin/python3
# run as: user root
# long: root
"""The kill sweep: real managed runs, of which berm, its watchdog, both, or a whole session is killed with SIGKILL
at each boundary (src/os/boundary.h) and at random instants. After each nothing is left, nobody else was
signalled, and the report says what docs/crash-points.md has.

The table is printed, with the seed of the instants. The judge is tests/crash/check-clean, which is shown to fail when
nobody heals. Short: some boundaries, 20 instants; BERM_TEST_LONG: all of them, 200 instants, for the user.
"""

import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "crash")]
from cgroups import MANAGER, ROOT  # noqa: E402
from deaths import (VICTIMS, Deaths, helpers, kill_now, lives, process_with,  # noqa: E402
                    start_and_wait)
from points import expected, rows  # noqa: E402
from scopes import scope  # noqa: E402
from tap import SLOWNESS, berm_path, case, children, main  # noqa: E402
from tier import CLAIM, LEFT, repository  # noqa: E402

LONG = bool(os.environ.get("BERM_TEST_LONG")) and not ROOT
SEED = int(os.environ.get("BERM_TEST_SEED") or random.randrange(1 << 32))
RUNS = {
    "success": ["--", "/bin/true"],
    "limit": ["--output-max", "64K", "--grace-ms", "30000", "--", "/bin/sh", "-c",
              "setsid sleep 1000 & exec yes"],
}
# Long: the session also dies while systemd is making the scope. A dead process that systemd moves before it was reaped
# is in no cgroup and is told of by nobody, so that an empty scope can stay.
FEW = {"controller": ("RELEASED",), "watchdog": (), "both": ("RELEASED",), "session": ("RELEASED",)} if ROOT else \
    {"controller": ("SCOPE_BEGUN", "RELEASED", "REPORT_RENAMED"), "watchdog": ("ARMED",), "both": ("RELEASED",),
     "session": ("RELEASED",)}
ANY_TIME = [victim for victim in VICTIMS if LONG or victim != "session"]
SLEEP = ["--", "/bin/sh", "-c", "setsid sleep 1000 & echo ready; exec sleep 1000"]
INSTANTS = 200 if LONG else 20


def word_wanted(victim, name, nth, after):
    """berm lives on without its watchdog, and says itself how the run ended."""
    if victim == "watchdog":
        return "final"
    return "old" if (name, nth) == ("SLOT_TAKEN", 1) else expected(after, True)


def sweep(t, deaths, victim, which):
    came = deaths.points(RUNS[which]) if LONG else None
    for n, name, _, after in rows():
        wanted = came.count(n) if LONG else name in FEW[victim]
        if name == "SLOT_TAKEN" and victim in ("watchdog", "both"):
            continue  # there is no watchdog yet
        for nth in range(1, wanted + 1):
            what = f"{victim} at {name}, time {nth}"
            t.equal(deaths.at_point(victim, RUNS[which], n, nth), "killed 157\n", what)
            began = time.monotonic()
            word, healed = deaths.after(victim, what)
            if (victim, name) == ("controller", "SCOPE_BEGUN"):  # for whom it was told of systemd has 15 s
                t.true(time.monotonic() - began < 10, "the watchdog waits for no unit that nobody asked for")
            print(f"# {victim:10} {n:2} {name:16} {nth}: {word}{', healed' if healed else ''}", flush=True)
            t.equal(word, word_wanted(victim, name, nth, after), what)
            if LONG:
                deaths.nothing_left(what, {"old": "old", "final": "final"}.get(word, "non-success"))


if LONG:
    for victim, which in itertools.product(VICTIMS, RUNS):
        @case(f"WD-5 WD-6 RS-5 S1 the sweep: {victim} at each boundary of a managed run, {which}", deadline_s=600)
        def _(t, victim=victim, which=which):
            sweep(t, Deaths(t), victim, which)
else:
    @case("WD-5 WD-6 RS-5 S1 the sweep: controller, watchdog, both and session at some boundaries of a managed run")
    def _(t):
        deaths = Deaths(t)
        for victim in VICTIMS:
            sweep(t, deaths, victim, "success")
        deaths.nothing_left("all of them", "non-success")


RAN = ["--", "/bin/sh", "-c", "setsid sleep 1000 & : >ran; exec sleep 0.2"]


def one_instant(t, deaths, victim, delay_s):
    """A run that is killed after that time: (exit status, word, whether the payload ran, how long all took)"""
    ran = t.dir / "ran/ran"
    ran.unlink(missing_ok=True)
    words = deaths.command(["--cwd", ran.parent, "--writable", ran.parent, *RAN])
    began = time.monotonic()
    child = t.start(*VICTIMS[victim][1], *words, stderr=subprocess.DEVNULL)
    try:
        child.wait(delay_s)
    except subprocess.TimeoutExpired:
        kill_now(victim, child)
    status = child.wait(60 * SLOWNESS)
    took_s = time.monotonic() - began
    t.started.remove(child)
    word, _ = deaths.after(victim, f"{victim} after {delay_s} s")
    return status, word, ran.exists(), took_s


if not ROOT:
    @case(f"WD-5 RS-5 S1 the sweep: {INSTANTS} random instants for each of {', '.join(ANY_TIME)}", deadline_s=2400)
    def _(t):
        deaths = Deaths(t)
        (t.dir / "ran").mkdir()
        (t.dir / "ran").chmod(0o777)
        chosen = random.Random(SEED)
        _, *said, whole_s = one_instant(t, deaths, "controller", 60 * SLOWNESS)
        t.equal(said, ["final", True])
        print(f"# seed {SEED}; a run takes {whole_s:.2f} s")
        for victim in ANY_TIME:
            seen = {}
            began = time.monotonic()
            for _ in range(INSTANTS):
                delay_s = chosen.uniform(0, whole_s)
                status, word, ran, _ = one_instant(t, deaths, victim, delay_s)
                what = f"seed {SEED}, {victim} after {delay_s:.3f} s: {status} {word} {ran}"
                t.true(word in (("old", "in progress", "crash", "final") if status == -signal.SIGKILL else ("final",)),
                       what)
                t.true(not ran or word in ("crash", "final"), what)
                seen[word] = seen.get(word, 0) + 1
            took_s = time.monotonic() - began
            print(f"# {victim:10} {seen}, {took_s / INSTANTS:.2f} s each", flush=True)
        done = deaths.check()
        t.equal((done.status, done.out.decode()), (0, ""))


BEHIND = ("FENCE_CLEARED", "PROMOTED")
ALONE = ("LOCK_CLAIMED", *BEHIND)  # there is no watchdog yet, or none any more: all that there is has died


def tier_work(t):
    return ["--cwd", repository(t.dir / "top"), "--tier", "small", "--workload", "w", "--promote", "--", "bench/work"]


def stored(t, name, member):
    """What stands in one of the tiers' files, which goes."""
    path = t.state / "berm" / name
    found = json.loads(path.read_text())[member] if path.exists() else []
    path.unlink(missing_ok=True)
    return len(found)


def tier_death(t, deaths, words, victim, name):
    ((n, after),) = ((n, after) for n, one, _, after in rows() if one == name)
    what = f"{victim} at {name}"
    t.equal(deaths.at_point(victim, words, n), "killed 157\n", what)
    word, healed = deaths.after("both" if victim == "controller" and name in ALONE else victim, what)
    left = stored(t, "fences.json", "standing"), stored(t, "promotions.json", "promotions")
    print(f"# {victim:10} {n:2} {name:16}: {word}{', healed' if healed else ''}, {left}", flush=True)
    t.equal(word, "final" if victim == "watchdog" else expected(after, True), what)
    # Whose watchdog alone died before the release releases nothing, and fences nothing.
    t.equal(left, LEFT[name] if victim != "watchdog" else (0, 1) if name in BEHIND else (0, 0), what)
    t.equal(os.path.lexists(CLAIM), False, f"{what}: a claim")
    deaths.nothing_left(what, "final" if word == "final" else "non-success")


if not ROOT:
    @case("FZ-1 FZ-3 FZ-5 TR-3 TR-4 WD-5 the sweep: a run at a tier dies, and the next one has copy, lock and tier",
          deadline_s=900)
    def _(t):
        deaths = Deaths(t)
        words = tier_work(t)
        for victim, name in itertools.product(("controller", "watchdog", "both"), LEFT) if LONG else \
                (("controller", "SNAPSHOT_TAKEN"), ("both", "FENCE_WRITTEN")):
            if victim == "controller" or name != "LOCK_CLAIMED":
                tier_death(t, deaths, words, victim, name)
        words[:0] = [f"--json={t.dir}/record.json"]
        done = t.run(*deaths.command(words), deadline_s=60)
        frozen = json.loads((t.dir / "record.json").read_text())["frozen"]
        t.equal((done.status, frozen["entries"], frozen["files_copied"]), (0, 3, 0), str(done))
        t.equal((stored(t, "fences.json", "standing"), stored(t, "promotions.json", "promotions")), (0, 1))


def for_nobody(t, unit):
    """A unit that systemd keeps: whom it was asked to move had ended, and nobody had waited for that one yet."""
    with subprocess.Popen(["true"]) as dead:
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        made = t.run("busctl", *MANAGER, "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                     "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail",
                     1, "PIDs", "au", 1, dead.pid, 0)
        t.equal(made.status, 0, str(made))
        t.wait_until(lambda: t.run("systemctl", *MANAGER, "is-active", unit).out == b"active\n", "a unit for nobody")
    t.equal(t.run("systemctl", *MANAGER, "is-active", unit).out, b"active\n", "it stays, undefended")


# A death before the scope is armed, too: all in it can have died before systemd moved them.
for boundary, whose, pattern in (("RELEASED", "watchdog's", rb"berm-[a-z0-9-]+-watchdog[.]scope"),
                                 ("WATCHDOG_READY", "run's", rb"berm-[a-z0-9]+-[0-9a-f]+[.]scope")):
    @case(f"R43 WD-5 a unit that systemd keeps for nobody, since who was moved there was dead: recover forgets the {whose}")
    def _(t, boundary=boundary, pattern=pattern):
        deaths = Deaths(t)
        (n,) = (n for n, name, _, _ in rows() if name == boundary)
        t.equal(deaths.at_point("both", RUNS["success"], n), "killed 157\n")
        deaths.all_end("both")
        (manifest,) = deaths.watch.glob("*.watch")
        unit = re.search(pattern, manifest.read_bytes())[0].decode()
        t.wait_until(lambda: t.run("systemctl", *MANAGER, "is-active", unit).status != 0, "the unit to go")
        for_nobody(t, unit)
        deaths.after("both", "a unit for nobody")
        deaths.nothing_left("a unit for nobody", "non-success")


@case("R43 undefended: with a watchdog that is stopped the judge finds all that is left; and when it goes on, nothing")
def _(t):
    deaths = Deaths(t)
    child = start_and_wait(t, deaths.command(SLEEP))
    (watchdog,) = helpers("watchdog")
    os.kill(watchdog, signal.SIGSTOP)
    child.kill()
    child.wait()
    done = deaths.check("--within", 0, "--slot-says", "non-success")
    kinds = {line.split()[0] for line in done.out.decode().splitlines()}
    t.true(done.status == 1 and kinds >= {"process", "cgroup", "unit", "entry"}, str(done))
    os.kill(watchdog, signal.SIGCONT)
    t.started.remove(child)
    t.equal(deaths.after("controller", "it goes on")[0], "crash")
    deaths.nothing_left("it goes on", "non-success")


if ROOT:
    def recycle(t, pids):
        """Bystanders with the numbers of processes that have ended."""
        for pid in pids:
            t.wait_until(lambda pid=pid: pid not in dict(children()) and not Path(f"/proc/{pid}").exists(), "it is free")
            process_with(pid, ["/bin/sleep", "1000"])

    def dismiss(pids):
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    @case("T19 WD-5 who has the numbers of the dead is not signalled: by a watchdog that comes late")
    def _(t):
        deaths = Deaths(t)
        child = start_and_wait(t, deaths.command(SLEEP))
        payload = int((Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split())[0])
        (watchdog,) = helpers("watchdog")
        os.kill(watchdog, signal.SIGSTOP)
        os.kill(payload, signal.SIGSTOP)
        child.kill()
        child.wait()
        t.started.remove(child)
        os.kill(payload, signal.SIGKILL)
        recycle(t, [child.pid, payload])
        os.kill(watchdog, signal.SIGCONT)
        t.wait_until(lambda: {name for _, name in children()} == {"sleep"} and len(children()) == 3, "all end")
        t.true(lives(child.pid) and lives(payload), "the bystanders live")
        dismiss([child.pid, payload])
        t.equal(deaths.after("controller", "late")[0], "crash")
        deaths.nothing_left("late", "non-success")

    @case("T19 S3 and by recover, when both are dead and all their numbers taken")
    def _(t):
        deaths = Deaths(t)
        child = start_and_wait(t, deaths.command(SLEEP))
        payload = int((Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split())[0])
        pids = [child.pid, payload, *helpers("watchdog"), *helpers("anchor")]
        kill_now("both", child)
        child.wait()
        t.started.remove(child)
        recycle(t, pids)
        done = t.berm("recover", "--runs", "--json")
        t.equal((done.status, done.json()["healed"]), (0, 1), str(done))
        t.true(all(lives(pid) for pid in pids), "the bystanders live")
        dismiss(pids)
        t.equal(deaths.after("both", "recycled")[0], "crash")
        deaths.nothing_left("recycled", "non-success")

    OTHER_BOOT = 'mount --bind "$1" /proc/sys/kernel/random/boot_id; shift; exec "$@"'

    @case("S5 what both left is healed as after a reboot, and who has their numbers then is not signalled")
    def _(t):
        deaths = Deaths(t)
        child = start_and_wait(t, deaths.command(SLEEP))
        pids = [child.pid, *helpers("watchdog")]
        kill_now("both", child)
        child.wait()
        t.started.remove(child)
        recycle(t, pids)
        (t.dir / "boot").write_text("00000000-0000-4000-8000-000000000000\n")
        done = t.run("unshare", "--mount", "sh", "-euc", OTHER_BOOT, "sh", t.dir / "boot", berm_path(), "recover",
                     "--runs", "--json")
        t.equal((done.status, done.json()["healed"], done.json()["runs"][0]["what"]),
                (0, 1, "of a boot that ended"), str(done))
        t.true(all(lives(pid) for pid in pids), "the bystanders live")
        dismiss(pids)
        t.equal(deaths.after("both", "another boot")[0], "crash")
        deaths.nothing_left("another boot", "non-success")


main()
