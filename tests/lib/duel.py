"""An attack twice: against a careless parent, where it succeeds, and against berm.

    @case("T1 a daemon is found and ended")
    def _(t):
        duel(t, "daemonise")

Both columns have one judge, tests/lib/left-over: the very program that finds nothing after berm
found something without it. Attacks are those of tests/fixtures/attack.c. Programs are found beside
the berm under test.
"""

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "contract"))
from tap import SLOWNESS, Failed, berm_path  # noqa: E402
from validate_report import faults_of  # noqa: E402

BUILD = Path(berm_path()).resolve().parents[2]
ATTACK = BUILD / "tests/fixtures/attack"
LEFT_OVER = BUILD / "tests/lib/left-over"
LONG = bool(os.environ.get("BERM_TEST_LONG"))
ROUNDS = 2 if SLOWNESS >= 2 else 50 if LONG else 20
GRACE_MS = 50  # attacks that mean to stay are not waited for any longer


def left_over(t, *command, stop=0, wait_ms=None, **how):
    """What `command` left behind; see left-over.c. Its own output and words stay with it."""
    report = t.dir / "left-over.json"
    report.unlink(missing_ok=True)
    options = ["-s", int(stop)] if stop else []
    options += ["-w", wait_ms] if wait_ms else []
    done = t.run(LEFT_OVER, *options, report, *command, deadline_s=100, **how)
    if done.status not in (0, 1):
        raise Failed(f"left-over cannot tell: {done}")
    found = json.loads(report.read_text())
    found["err"] = done.err.decode(errors="replace")
    if bool(found["left"]) != (done.status == 1):
        raise Failed(f"left-over contradicts itself: {found}")
    return found


def report_of(path):
    """A report that follows the published rules."""
    report = json.loads(path.read_text())
    faults = faults_of(report)
    if faults:
        raise Failed(f"{path} is no valid report: {faults}\n{json.dumps(report, indent=1)}")
    return report


def record_of(t, place=-1):
    """The newest record in the state folder (0: the oldest), with a valid report inside."""
    runs = sorted((t.state / "berm/runs").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
    record = json.loads(runs[place].read_text())
    faults = faults_of(record["report"])
    if faults:
        raise Failed(f"no valid report in {runs[place]}: {faults}")
    return record


def under_berm(t, *command, options=(), stop=0, **how):
    """`berm run`, judged: nothing is left, no zombie, no held pipe, a valid report."""
    path = t.dir / "report.json"
    path.unlink(missing_ok=True)
    found = left_over(t, berm_path(), "run", "--grace-ms", GRACE_MS, "--report", path, *options,
                      "--", *command, stop=stop, **how)
    found["report"] = report_of(path)
    t.equal(found["left"], [], f"left behind by {command}: {found}")
    t.equal(found["zombies"], 0, f"not reaped by berm: {found}")
    t.equal(found["held"], False, f"standard output is still held: {found}")
    t.equal(found["report"]["cleanup"]["descendants_remaining"], [], "in the report")
    return found


def lives_on(found):
    return bool(found["left"])


def careless(t, *command, succeeds=lives_on, stop=0, wait_ms=None):
    """The same attack without berm: it must get what it wants, or the proof is worth nothing."""
    found = left_over(t, *command, stop=stop, wait_ms=wait_ms)
    t.true(succeeds(found), f"undefended, {command} does not even work: {found}")
    return found


def duel(t, attack, *arguments, rounds=ROUNDS, stop=0, plain_stop=None, outcome="success",
         options=(), succeeds=lives_on, check=None):
    """Both columns, `rounds` times each; `stop` is sent to the careless parent's child and to berm
    once the attack says that it is ready. Without berm one cannot be more careless than SIGTERM."""
    command = (ATTACK, attack, *arguments)
    without = [careless(t, *command, succeeds=succeeds, wait_ms=100,
                        stop=stop if plain_stop is None else plain_stop)
               for _ in range(rounds)]
    with_berm = []
    for _ in range(rounds):
        found = under_berm(t, *command, options=options, stop=stop)
        t.equal(found["ready"], True, f"{attack} came as far as it wanted: {found}")
        t.equal(found["report"]["outcome"], outcome, f"{found}")
        if check:
            check(found)
        with_berm.append(found)
    row = ("# {}: {:8} {:2} of {} rounds left something, at most {} processes, {} zombies; "
           "longest {} ms")
    for who, column in (("careless", without), ("berm", with_berm)):
        print(row.format(attack, who, sum(bool(f["left"]) for f in column), rounds,
                         max(len(f["left"]) for f in column), max(f["zombies"] for f in column),
                         max(f["ms"] for f in column)),
              flush=True)
    return with_berm
