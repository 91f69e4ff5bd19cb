#!/usr/bin/python3
"""Trees of processes that hide, outlive, multiply or confuse: nothing of them may be left.

Each attack runs against a careless parent first, where it must succeed. Racing ones run many
rounds.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from signal import SIGABRT, SIGKILL, SIGRTMIN, SIGTERM, SIGUSR1

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from duel import (ATTACK, LEFT_OVER, ROUNDS, careless, duel, left_over, record_of,  # noqa: E402
                  report_of, under_berm)
from tap import SLOWNESS, Skipped, berm_path, case, main  # noqa: E402

FEW = 3


@case("the judge of what is left: silent after a clean command, loud after each kind of other")
def _(t):
    clean = left_over(t, "sh", "-c", "echo ready; exit 3")
    t.equal((clean["left"], clean["zombies"], clean["held"], clean["status"]), ([], 0, False, 3))
    found = left_over(t, "sh", "-c", "sleep 1000 & echo ready $!")
    t.equal([word.split()[0] for word in found["left"]], [str(found["said"])])
    t.true(found["held"], "the sleeping one has the pipe")
    found = left_over(t, ATTACK, "hold-pipe", stop=0)
    t.equal((found["held"], len(found["left"])), (True, 1))
    found = left_over(t, ATTACK, "orphans", 5)
    t.equal(len(found["left"]) + found["zombies"], 5)  # the last may be on its way still
    found = left_over(t, ATTACK, "deaf", stop=SIGTERM, wait_ms=50)
    t.equal((len(found["left"]), found["status"], found["signal"]), (1, -1, -1))


@case("T1 a daemon of a daemon is found and ended", deadline_s=120)
def _(t):
    for found in duel(t, "daemonise"):
        t.equal(len(found["report"]["descendants"]) >= 2, True, "it was seen")


@case("T17 exit 0 while a descendant lives: ended, and told")
def _(t):
    duel(t, "stubborn-daemon", rounds=FEW)
    record = record_of(t)
    t.equal(record["tasks"]["stragglers"], 1, "of the last round")
    t.contains(record["report"]["termination"]["requested_signals"], "SIGKILL")


@case("T2 O7 a child that holds the pipe does not hang the run")
def _(t):
    duel(t, "hold-pipe", rounds=FEW, succeeds=lambda found: found["held"])


@case("T3 a grandchild that ignores SIGTERM goes with the leader that does not")
def _(t):
    duel(t, "stubborn-grandchild", rounds=FEW, stop=SIGTERM, outcome="interrupted",
         check=lambda found: t.equal(found["signal"], SIGTERM, "berm died of it as well"))


@case("T4 a chain of processes that each start the next and end", deadline_s=180)
def _(t):
    duel(t, "hop", 4)


@case("T4 a storm of forks that goes on while it is being killed", deadline_s=180)
def _(t):
    duel(t, "bomb", 60, stop=SIGTERM, outcome="interrupted")


@case("T4 a storm stops at the limit of tasks", deadline_s=120)
def _(t):
    duel(t, "bomb", 120, rounds=FEW, plain_stop=SIGTERM, outcome="safety_limit_exceeded",
         options=("--tasks", 40),
         check=lambda found: t.equal((found["status"], found["report"]["termination"]["limit"]),
                                     (120, "pids")))


@case("T5 a tree that is stopped")
def _(t):
    duel(t, "stop-tree", rounds=FEW, stop=SIGTERM, outcome="interrupted")


@case("T7 a parent inside vfork")
def _(t):
    duel(t, "vfork-child", rounds=FEW, stop=SIGTERM, outcome="interrupted")


@case("T8 a tree in which one traces another, attached or asked to")
def _(t):
    for attack in ("traced", "traceme"):
        duel(t, attack, rounds=FEW, stop=SIGTERM, outcome="interrupted")


@case("T9 R18 a crowd of zombies: every one is reaped", deadline_s=120)
def _(t):
    duel(t, "zombies", 100, rounds=FEW, stop=SIGTERM, outcome="interrupted",
         succeeds=lambda found: found["zombies"] >= 100)
    duel(t, "orphans", 100, rounds=FEW,
         succeeds=lambda found: found["zombies"] + len(found["left"]) >= 100)


@case("T10 threads are tasks")
def _(t):
    careless(t, ATTACK, "threads", 60, stop=SIGKILL, succeeds=lambda found: found["ready"])
    found = under_berm(t, ATTACK, "threads", 60, options=("--tasks", 30))
    t.equal((found["status"], found["report"]["termination"]["limit"]), (120, "pids"))


def in_pid_namespace(*command, proc=True):
    """As the first process of a pid namespace, with its own /proc."""
    if os.geteuid() != 0:
        raise Skipped("only root may make a pid namespace everywhere")
    return ("unshare", "--pid", "--fork", "--kill-child",
            *(("--mount-proc",) if proc else ()), *command)


@case("T12 a payload that would be pid 1: its abort and its own signals count again")
def _(t):
    alone = in_pid_namespace()
    survived = careless(t, *alone, ATTACK, "raise", int(SIGUSR1),
                        succeeds=lambda f: f["ready"] and f["status"] == 0)
    changed = careless(t, *alone, ATTACK, "raise", int(SIGABRT),
                       succeeds=lambda f: f["status"] != 128 + SIGABRT)
    print(f"# careless: pid 1 survived SIGUSR1 ({survived['status']}), abort() became "
          f"status {changed['status']} signal {changed['signal']}")
    for number in (SIGUSR1, SIGABRT):
        path = t.dir / f"{number}.json"
        found = left_over(t, *alone, berm_path(), "run", "--report", path, "--", ATTACK, "raise",
                          int(number))
        t.equal((found["status"], found["ready"]), (128 + number, False), f"{found}")
        end = report_of(path)["termination"]
        t.equal((end["child_signal"], end["child_exit_code"]), (number.name, 128 + number))


@case("R18 berm as pid 1: a daemon is ended, SIGTERM is heard, no zombie and no hang")
def _(t):
    found = left_over(t, *in_pid_namespace(berm_path(), "run", "--grace-ms", 50, "--report",
                                           t.dir / "one.json", "--", ATTACK, "stubborn-daemon"))
    t.equal((found["status"], found["left"], found["zombies"]), (0, [], 0), f"{found}")
    report = report_of(t.dir / "one.json")
    t.contains(report["termination"]["requested_signals"], "SIGKILL")
    t.equal(report["outcome"], "success")

    child = t.start(*in_pid_namespace(berm_path(), "run", "--report", t.dir / "two.json", "--",
                                      ATTACK, "stubborn-grandchild"),
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.contains(child.stdout.readline(), b"ready")
    (berm,) = children_of(child.pid)
    os.kill(berm, SIGTERM)  # the child of our own child, which waits for it: still its number
    t.equal(child.wait(30 * SLOWNESS), 128 + SIGTERM,
            "pid 1 cannot die of a signal: its status says it")
    t.equal(report_of(t.dir / "two.json")["outcome"], "interrupted")


@case("R18 berm as pid 1: an orphan of somebody else is not touched, and nothing is claimed")
def _(t):
    os.mkfifo(t.dir / "gate")
    child = t.start(*in_pid_namespace(berm_path(), "run", "--grace-ms", 50, "--report", "r.json",
                                      "--", "sh", "-c", "echo ready; read line <gate; exit 4"),
                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.contains(child.stdout.readline(), b"ready")
    (berm,) = children_of(child.pid)
    (payload,) = children_of(berm)
    t.run("nsenter", f"--target={berm}", "--pid", "--mount", "sh", "-c", "sleep 1000 >&- 2>&- &")
    (stranger,) = set(children_of(berm)) - {payload}
    t.true(stranger, "an orphan has become berm's child")
    (t.dir / "gate").write_text("\n")
    child.wait(30 * SLOWNESS)
    report = report_of(t.dir / "r.json")
    t.equal((report["outcome"], report["termination"]["reason"]),
            ("internal_error", "cleanup_incomplete"))
    t.equal((report["termination"]["child_exit_code"], report["termination"]["requested_signals"]),
            (4, []), "no signal was sent to anybody")


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@case("T20 a pid namespace inside: what is in there ends too")
def _(t):
    nested = in_pid_namespace(ATTACK, "stubborn-grandchild")
    nested = [word for word in nested if word != "--kill-child"]
    careless(t, *nested, stop=SIGKILL)
    found = under_berm(t, *nested, stop=SIGTERM)
    t.equal(found["report"]["outcome"], "interrupted")
    seen = {one["pid"] for one in found["report"]["descendants"]}
    t.true(len(seen) >= 4 and min(seen) > 3, f"numbers of our own namespace: {seen}")


@case("T20 a /proc of another pid namespace: nothing is run, and it is said")
def _(t):
    found = left_over(t, *in_pid_namespace(berm_path(), "run", "--", "touch", t.dir / "ran",
                                           proc=False))
    t.equal(found["status"], 121, f"{found}")
    t.contains(found["err"], "pid namespace")
    t.true(not (t.dir / "ran").exists(), "the payload ran")
    t.equal(record_of(t)["report"]["outcome"], "preflight_refused")


@case("T19 a number that was used again: the new owner is not touched", deadline_s=120)
def _(t):
    command = in_pid_namespace("/usr/bin/python3", HERE / "pid-reuse", ATTACK, berm_path(), ROUNDS)
    done = t.run(*command, deadline_s=110)
    t.equal(done.status, 0, str(done))
    seen = json.loads(done.out)
    print(f"# remembered numbers: {seen['careless']} of {seen['rounds']} bystanders killed; "
          f"berm: {seen['berm']} of {seen['rounds']}")
    t.equal((seen["rounds"], seen["careless"], seen["berm"]), (ROUNDS, ROUNDS, 0))


def caller_ignores_and_blocks():
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.valid_signals()) - {32, 33})


def masks(out):
    """{"SigBlk": 0, ...} of what `attack report` says."""
    return {line.split(":")[0]: int(line.split()[1], 16) for line in out.decode().splitlines()
            if line[:6] in ("SigBlk", "SigIgn")}


@case("T15 T16 T18 what the caller ignores and blocks: a clean start, and its end is heard")
def _(t):
    how = {"preexec_fn": caller_ignores_and_blocks, "restore_signals": False}
    without = masks(t.run(ATTACK, "report", **how).out)
    t.true(without["SigIgn"] and without["SigBlk"], f"a careless parent hands it on: {without}")
    done = t.berm("run", "--", ATTACK, "report", **how)
    with_berm = masks(done.out)
    print(f"# careless: {without}\n# berm: {with_berm}")
    t.equal((with_berm["SigIgn"], with_berm["SigBlk"]), (0, 0), str(done))
    t.equal(done.status, 0)
    t.equal(t.berm("run", "--", "sh", "-c", "exit 7", **how).status, 7,
            "SIGCHLD ignored in the caller: the exit code is still known")
    t.equal(t.berm("run", "--", ATTACK, "stubborn-daemon", **how).status, 0)


@case("T16 an ignored SIGPIPE is not passed on")
def _(t):
    how = {"preexec_fn": lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
           "restore_signals": False}
    script = "kill -PIPE $$; echo survived"
    t.equal(t.run("sh", "-c", script, **how).out, b"survived\n", "without berm")
    done = t.berm("run", "--", "sh", "-c", script, **how)
    t.equal((done.out, done.status), (b"", 128 + signal.SIGPIPE), str(done))


@case("T18 a payload that dies of a real-time signal is reported as that")
def _(t):
    for number in (SIGRTMIN, SIGRTMIN + 7, signal.SIGRTMAX):
        done = t.berm("run", "--", ATTACK, "raise", int(number))
        t.equal(done.status, 128 + number, str(done))
        end = record_of(t)["report"]["termination"]
        t.equal(end["child_exit_code"], 128 + number)
        t.true(end["child_signal"].startswith("SIGRTM"), end)


@case("X1 T18 a payload that ignores and blocks everything is killed")
def _(t):
    duel(t, "deaf", rounds=FEW, stop=SIGTERM, outcome="interrupted")


@case("R3 killed from outside: no limit is claimed")
def _(t):
    child = t.start_berm("run", "--", ATTACK, "deaf", stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    payload = int(child.stdout.readline().split()[1])
    os.kill(payload, SIGKILL)  # it lives until now: nobody else ends it
    _, said = child.communicate(timeout=30 * SLOWNESS)
    t.equal(child.returncode, 128 + SIGKILL)
    t.contains(said, b"KILLED by SIGKILL")
    report = record_of(t)["report"]
    t.equal((report["outcome"], report["termination"]["limit"],
             report["termination"]["child_signal"], report["termination"]["requested_signals"]),
            ("command_failed", None, "SIGKILL", []))
    t.contains(report["error"]["message"], "did not send")


@case("R17 the thread that started berm ends: the run goes on")
def _(t):
    started = []
    thread = threading.Thread(target=lambda: started.append(t.start_berm(
        "run", "--stdin", "inherit", "--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)))
    thread.start()
    thread.join()
    out, _ = started[0].communicate(b"still here", timeout=30 * SLOWNESS)
    t.equal((out, started[0].returncode), (b"still here", 0))


main()
