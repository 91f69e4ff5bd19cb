#!/usr/bin/python3
# run as: user
# long
"""How soon a managed run is over: figures, printed beside what a fork and an exec take in this guest. They are no
timed tests: a busy machine makes them larger, and nothing fails. Beside them stands what the kernel itself takes to
kill as many.

From the signal to the leaf's being empty, seen from outside (tests/crash/empty-after). On a machine with other work it needs
the time that BERM_TEST_LONG=1 gives it.
"""

import signal
import statistics
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "crash"), str(TESTS / "bench")]
from byhand import BWRAP  # noqa: E402
from cgroups import TREE  # noqa: E402
from deaths import Deaths, start_and_wait  # noqa: E402
from duel import BUILD  # noqa: E402
from scopes import scope, stands_in  # noqa: E402
from tap import case, main  # noqa: E402

EMPTY_AFTER = BUILD / "tests/crash/empty-after"
MANY = """i=1; while [ $i -lt %d ]; do sleep 1000 & i=$((i + 1)); done; echo ready; exec sleep 1000"""
GRACE_MS = 300


def payload(processes, stubborn=False):
    return ["--", "/bin/sh", "-c", ("trap '' TERM INT; " if stubborn else "") + MANY % processes]


def measure(t, rounds, words, number=signal.SIGKILL):
    """Nanoseconds each. Afterwards nothing is left."""
    deaths, took = Deaths(t), []
    for _ in range(rounds):
        child = start_and_wait(t, deaths.command(words))
        first = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()[0]
        done = t.run(EMPTY_AFTER, child.pid, TREE / stands_in(first).removeprefix("/"), int(number))
        t.equal(done.status, 0, str(done))
        took.append(int(done.out))
        child.wait()
        child.stdout.close()
        t.started.remove(child)
        deaths.all_end("measured")
    done = deaths.check()
    t.equal((done.status, done.out.decode()), (0, ""))
    return took


def by_hand(t, rounds, processes):
    """What the kernel itself takes for that many, in a scope of systemd's and the namespaces of a sandbox."""
    took = []
    for _ in range(rounds):
        child = start_and_wait(t, scope() + BWRAP + payload(processes)[1:])
        done = t.run(EMPTY_AFTER, "kill", TREE / stands_in(child.pid).removeprefix("/"))
        t.equal(done.status, 0, str(done))
        took.append(int(done.out))
        child.wait()
        child.stdout.close()
        t.started.remove(child)
    print(f"# one write to cgroup.kill by hand, {processes} processes: median {statistics.median(took) / 1e6:.1f} ms, "
          f"worst {max(took) / 1e6:.1f} ms of {rounds}", flush=True)


def tell(what, took, goal):
    own = sorted(int(subprocess.run([EMPTY_AFTER, "-"], capture_output=True, check=True).stdout)
                 for _ in range(20))
    print(f"# {what}: median {statistics.median(took) / 1e6:.1f} ms, worst {max(took) / 1e6:.1f} ms of "
          f"{len(took)} ({goal}); a fork and exec here: {statistics.median(own) / 1e6:.1f} ms", flush=True)


@case("WD-5 SIGKILL of berm, 9 processes", deadline_s=600)
def _(t):
    by_hand(t, 20, 9)
    tell("SIGKILL of berm, 9 processes", measure(t, 50, payload(9)), "goals 30 and 100")


@case("WD-5 SIGKILL of berm, 64 processes", deadline_s=600)
def _(t):
    by_hand(t, 10, 64)
    tell("SIGKILL of berm, 64 processes", measure(t, 20, payload(64)), "goal for the worst 250")


for number in (signal.SIGTERM, signal.SIGINT):
    @case(f"{number.name} to berm, 64 processes that do not heed it", deadline_s=600)
    def _(t, number=number):
        took = measure(t, 10, ["--grace-ms", GRACE_MS, *payload(64, stubborn=True)], number)
        tell(f"{number.name}, 64 processes, less the grace of {GRACE_MS} ms", [ns - GRACE_MS * 1e6 for ns in took],
             "goal for the worst 50")


main()
