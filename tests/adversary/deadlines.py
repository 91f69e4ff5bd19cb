#!/usr/bin/python3
"""Time limits that are tiny, that fall into set-up or clean-up, or that a payload ignores.

The wall clock that is stepped (X3) and the machine that sleeps (X4) need a clock of their own:
tests/unit/supervise.
"""

import subprocess
import sys
from pathlib import Path
from signal import SIGKILL, SIGSTOP, SIGTERM

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from duel import ATTACK, ROUNDS, careless, duel, left_over, record_of, under_berm  # noqa: E402
from tap import SLOWNESS, case, main  # noqa: E402

FEW = 3


@case("X1 a payload that only SIGKILL ends is ended at its time limit")
def _(t):
    # timeout(1) without its -k waits for ever
    careless(t, "timeout", 0.05 * SLOWNESS, ATTACK, "deaf", stop=SIGTERM, wait_ms=300)
    for _ in range(FEW):
        found = under_berm(t, ATTACK, "deaf", options=("--timeout", "200ms"))
        t.equal(found["status"], 124, f"{found}")
        report = found["report"]
        t.equal((report["outcome"], report["termination"]["limit"]),
                ("safety_limit_exceeded", "timeout"))
        t.contains(report["termination"]["requested_signals"], "SIGKILL")
        t.true(200 <= found["ms"] < 2500 * SLOWNESS, f"{found}")


@case("X2 X6 time limits of 1 to 5 ms, which fall anywhere in the start", deadline_s=120)
def _(t):
    longest, launched = 0, 0
    for number in range(ROUNDS):
        path = t.dir / f"ran-{number}"
        found = under_berm(t, "sh", "-c", f"echo >{path}; exec sleep 100",
                           options=("--timeout-ms", 1 + number % 5))
        t.equal(found["status"], 124, f"{found}")
        report = found["report"]
        t.equal((report["outcome"], report["termination"]["limit"]),
                ("safety_limit_exceeded", "timeout"), f"{report}")
        longest, launched = max(longest, found["ms"]), launched + path.exists()
    print(f"# {ROUNDS} rounds, {launched} came as far as the payload's first line, "
          f"longest {longest} ms")


@case("X6 a time limit of 0 is refused with the range, nothing is run")
def _(t):
    for option in (("--timeout", "0"), ("--timeout", "0s"), ("--timeout-ms", "0"),
                   ("--timeout", "-1s"), ("--timeout=-1", )):
        done = t.berm("run", *option, "--", "touch", "ran")
        t.equal((done.status, done.out), (125, b""), str(done))
        t.true(b"--timeout" in done.err, done.err)
        t.true(not (t.dir / "ran").exists(), option)


@case("X5 a payload that only computes is stopped on time and its processor time is right")
def _(t):
    careless(t, ATTACK, "spin", 2, stop=SIGSTOP, wait_ms=100)
    found = under_berm(t, ATTACK, "spin", 2, options=("--timeout", "1s"))
    t.equal(found["status"], 124, f"{found}")
    record = record_of(t)
    used = record["cpu"]["user_ns"] + record["cpu"]["system_ns"]
    wall = record["timing"]["payload_wall_ns"]
    print(f"# two threads, 1 s: {used / 1e9:.2f} s of processor time in {wall / 1e9:.2f} s")
    t.true(0.1 * wall < used < 2.1 * wall, "what two processors can give, less what others took")


@case("X7 the time limit falls into the clean-up: the command's own end stands, and it is bounded")
def _(t):
    duel(t, "stubborn-daemon", rounds=FEW)
    for _ in range(FEW):
        found = left_over(t, *berm("--timeout", "300ms", "--grace-ms", 1500), ATTACK,
                          "stubborn-daemon")
        t.equal((found["left"], found["status"]), ([], 0), f"{found}")
        report = record_of(t)["report"]
        t.equal((report["outcome"], report["termination"]["limit"]), ("success", None))
        t.true(found["ms"] < 4000 * SLOWNESS, f"{found}")


def berm(*options):
    from tap import berm_path
    return (berm_path(), "run", *options, "--")


@case("R36 a time limit that ends more than the shell: a writer and a reader of one FIFO")
def _(t):
    script = ("mkfifo pipe; (echo ready; while :; do echo line; sleep 0.05; done >pipe) & "
              "cat pipe")
    careless(t, "sh", "-c", script, stop=SIGKILL)
    (t.dir / "pipe").unlink()
    done = t.berm("run", "--timeout", f"{SLOWNESS}s", "--", "sh", "-c", script)
    t.equal(done.status, 124, done.err)
    report = record_of(t)["report"]
    t.true(report["duration_ms"] < 3000 * SLOWNESS, report["duration_ms"])
    t.true(report["output"]["stdout_tail"].endswith("line\n"), report["output"])


@case("a grace of 0 kills at once, a grace that is not needed is not waited for")
def _(t):
    child = t.start_berm("run", "--grace-ms", 0, "--", ATTACK, "deaf", stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    child.stdout.readline()
    child.terminate()
    t.equal(child.wait(20 * SLOWNESS), -SIGTERM)
    t.equal(record_of(t)["report"]["termination"]["requested_signals"][-1:], ["SIGKILL"])
    found = left_over(t, *berm("--timeout", "200ms", "--grace-ms", 60000), "sleep", "100")
    t.equal(found["status"], 124)
    t.true(found["ms"] < 10000, f"{found}")


main()
