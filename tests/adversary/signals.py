#!/usr/bin/python3
"""Signals to berm and keys at its terminal: the payload ends, the caller can tell."""

import os
import re
import resource
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from signal import SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from duel import ATTACK, record_of, under_berm  # noqa: E402
from tap import SLOWNESS, berm_path, case, main, state_of  # noqa: E402
from terminal import Terminal  # noqa: E402

CTRL_C = b"\x03"
CTRL_Z = b"\x1a"


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@case("R19 LC-3 SIGINT, SIGTERM, SIGHUP, SIGQUIT: the tree is ended, then berm dies of the same signal")
def _(t):
    for number in (SIGINT, SIGTERM, SIGHUP, SIGQUIT):
        found = under_berm(t, ATTACK, "stubborn-grandchild", stop=number, preexec_fn=no_core)
        t.equal(found["signal"], number, f"{found}")
        end = found["report"]["termination"]
        t.equal((found["report"]["outcome"], end["reason"], end["limit"]),
                ("interrupted", "interrupted", "signal"))
        t.contains(found["err"], f"INTERRUPTED by {number.name}")


def loop(t, command):
    return Terminal(t, "bash", "--norc", "-c",
                    f"for i in 1 2 3; do echo round $i; {command}; done; echo the loop went on")


@case("R19 Ctrl-C ends a bash loop over berm run, as it does not over one that only exits 130")
def _(t):
    rude = t.dir / "rude"
    rude.write_text(f"#!/bin/sh\ntrap 'exit 130' INT\n{ATTACK} stubborn-grandchild\n")
    rude.chmod(0o755)
    shell = loop(t, rude)
    for number in (1, 2, 3):
        shell.wait_for(rb"round %d\s+ready" % number)  # it goes on: what berm must not do
        shell.press(CTRL_C)
    t.contains(shell.finish(), b"the loop went on")
    shell = loop(t, f"'{berm_path()}' run --grace-ms 50 -- {ATTACK} stubborn-grandchild")
    shell.wait_for(rb"ready")
    shell.press(CTRL_C)
    seen = shell.finish()
    t.equal(shell.code(), -SIGINT, "bash itself ended by it")
    t.true(b"round 2" not in seen and b"went on" not in seen, seen)
    t.equal(record_of(t)["report"]["cleanup"]["descendants_remaining"], [])


STAYS = "trap 'echo told' TERM; echo ready; while :; do sleep 0.05; done"


@case("R19 LC-3 Ctrl-C while the rest of a finished run is being ended: berm dies of it, the outcome stands")
def _(t):
    os.mkfifo(t.dir / "up")
    script = ("(trap 'echo told' TERM; echo >up; while :; do sleep 100 & wait; done) & "
              "read x <up; exit 0")
    child = t.start_berm("run", "--grace-ms", "600000", "--", "sh", "-c", script,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.equal(child.stdout.readline(), b"told\n")  # the command has exited, its daemon has its SIGTERM
    child.send_signal(SIGINT)
    child.communicate(timeout=30 * SLOWNESS)
    t.equal(child.returncode, -SIGINT)
    t.started.remove(child)
    record = record_of(t)
    t.equal((record["report"]["outcome"], record["exit"]["signal"]), ("success", "SIGINT"))
    t.equal(record["exit"]["code"], 128 + SIGINT)


@case("R19 Ctrl-C while only a stuck reader is waited for: berm dies of it, the outcome stands")
def _(t):
    child = t.start_berm("run", "--", "sh", "-c", "echo $$; head -c 120000 /dev/zero",
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    payload = int(child.stdout.readline())
    t.wait_until(lambda: state_of(payload) == "-", "the command to have ended")
    t.true(state_of(child.pid) in "SR", "berm waits for the reader")
    child.send_signal(SIGINT)
    t.equal(child.wait(20 * SLOWNESS), -SIGINT)
    record = record_of(t)
    t.equal((record["report"]["outcome"], record["exit"]["code"], record["exit"]["signal"]),
            ("success", 128 + SIGINT, "SIGINT"))
    stream = record["output"]["stdout"]
    t.equal((stream["pass_error"], stream["passed_bytes"] < stream["bytes"]), ("EINTR", True))


@case("LC-3 Ctrl-C twice does not wait for the grace")
def _(t):
    terminal = Terminal(t, berm_path(), "run", "--grace-ms", 600000, "--", "sh", "-c", STAYS)
    terminal.wait_for(rb"ready")
    terminal.press(CTRL_C)
    terminal.wait_for(rb"told")
    terminal.press(CTRL_C)
    terminal.finish()
    t.equal(terminal.code(), -SIGINT)
    report = record_of(t)["report"]
    t.contains(report["termination"]["requested_signals"], "SIGKILL")
    t.equal(report["cleanup"]["descendants_remaining"], [])


@case("the payload is in a session of its own: Ctrl-C reaches it through berm alone")
def _(t):
    script = ("trap 'echo hit by INT' INT; trap 'echo told; exit 0' TERM; echo ready; "
              "sleep 100 & wait")
    terminal = Terminal(t, berm_path(), "run", "--", "sh", "-c", script)
    terminal.wait_for(rb"ready")
    terminal.press(CTRL_C)
    seen = terminal.finish()
    t.equal(terminal.code(), -SIGINT)
    t.true(b"told" in seen and b"hit by INT" not in seen, seen)


@case("nohup: a hang-up does not end a run whose caller ignores it")
def _(t):
    def ignore():
        signal.signal(SIGHUP, signal.SIG_IGN)
    child = t.start_berm("run", "--stdin", "inherit", "--", "sh", "-c",
                         "echo ready; read x; echo $x", stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=ignore)
    t.equal(child.stdout.readline(), b"ready\n")
    child.send_signal(SIGHUP)
    out, err = child.communicate(b"still here\n", timeout=30 * SLOWNESS)
    t.equal((out, child.returncode), (b"still here\n", 0), err)
    done = t.run("nohup", berm_path(), "run", "--", "echo", "hi")
    t.equal((done.out, done.status), (b"hi\n", 0), str(done))


@case("S4 berm stopped past the deadline and continued: the limit is kept, the payload ended")
def _(t):
    child = t.start_berm("run", "--timeout", "1500ms", "--grace-ms", 50, "--", ATTACK, "deaf",
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    payload = int(child.stdout.readline().split()[1])
    child.send_signal(SIGSTOP)
    t.wait_until(lambda: state_of(child.pid) == "T", "berm to stop")
    t.run("sleep", "2")  # real time is what this is about
    t.true(state_of(payload) not in "-Z", "nobody looks after it meanwhile")
    child.send_signal(SIGCONT)
    _, err = child.communicate(timeout=30 * SLOWNESS)
    t.equal(child.returncode, 124, err)
    t.equal(state_of(payload), "-")
    report = record_of(t)["report"]
    t.equal((report["outcome"], report["termination"]["limit"]),
            ("safety_limit_exceeded", "timeout"))
    t.true(report["duration_ms"] >= 2000, "the time that it stood still counts")


@case("R19 a stop that reaches everybody at once is an interruption, whatever the payload answers")
def _(t):
    for answer in ("exec sleep 1000", "trap 'exit 0' TERM; echo; while :; do sleep 0.05; done"):
        child = t.start_berm("run", "--", "sh", "-c", f"echo ready $$; {answer}",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        payload = int(child.stdout.readline().split()[1])
        if "trap" in answer:
            child.stdout.readline()
        child.send_signal(SIGSTOP)  # it will find everything at once, as one that came late would
        t.wait_until(lambda: state_of(child.pid) == "T", "berm to stop")
        child.send_signal(SIGTERM)
        os.kill(payload, SIGTERM)
        t.wait_until(lambda: state_of(payload) == "Z", "the payload to end")
        child.send_signal(SIGCONT)
        _, err = child.communicate(timeout=30 * SLOWNESS)
        t.equal(child.returncode, -SIGTERM, err)
        report = record_of(t)["report"]
        t.equal((report["outcome"], report["termination"]["limit"]), ("interrupted", "signal"))


# It starts nothing: a shell inside vfork shows D while its child is stopped (T7).
WAITS = """
import os, signal
signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
print("ready", os.getpid(), flush=True)
while True:
    signal.pause()
"""


@case("Ctrl-Z stops both, SIGCONT continues both")
def _(t):
    berm = t.start_berm("run", "--", "/usr/bin/python3", "-c", WAITS, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL)
    payload = int(berm.stdout.readline().split()[1])
    # What the terminal's stop key sends; a group without a shell (an orphaned one) gets none of it.
    berm.send_signal(SIGTSTP)
    t.wait_until(lambda: state_of(berm.pid) == "T", "berm to stop")
    t.wait_until(lambda: state_of(payload) == "T", "the payload to stop")
    berm.send_signal(SIGCONT)
    t.wait_until(lambda: state_of(payload) in "SR", "the payload to go on")
    os.kill(payload, signal.SIGUSR1)
    t.equal(berm.wait(20 * SLOWNESS), 3)


LIVE_LINE = rb"\r\x1b\[Kberm: \d+\."


@case("Ctrl-Z leaves no live line behind: the shell's prompt is alone on its line")
def _(t):
    script = (f"set -m; {shlex.quote(berm_path())} run --sample-ms 50 -- sleep 100; "
              "echo stopped with $?; kill -INT %1; fg")
    terminal = Terminal(t, "bash", "--norc", "-c", script)
    terminal.wait_for(LIVE_LINE)
    terminal.press(CTRL_Z)
    terminal.wait_for(rb"stopped with 147")
    terminal.finish()
    t.true(not re.search(rb"berm: \d", terminal.shown()), terminal.shown())


@case("a terminal is left as it was found, with a live line and after Ctrl-C")
def _(t):
    os.mkfifo(t.dir / "go")
    for keys, code in ((b"", 0), (CTRL_C, -SIGINT)):
        terminal = Terminal(t, berm_path(), "run", "--sample-ms", 50, "--", "sh", "-c",
                            f"echo one; read go <{t.dir}/go; echo two")
        terminal.wait_for(LIVE_LINE)
        terminal.press(keys)
        if not keys:
            (t.dir / "go").write_text("on\n")
        terminal.wait_for(rb"berm: run ")
        t.equal(terminal.settings(), terminal.before, "termios")
        terminal.finish()
        t.equal(terminal.code(), code)
        t.true(b"  tasks " not in terminal.shown(), f"a live line is left: {terminal.shown()}")


main()
