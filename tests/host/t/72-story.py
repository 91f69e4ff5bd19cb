#!/usr/bin/python3
# run as: user
"""The tiers' story, from an empty state: each step that comes too early is refused by its code, each change takes
back what it must, and only one runs at a time. BERM_TEST_LONG: each in all its forms, and a death at each boundary that
only a tier has.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "lib"), str(TESTS / "crash")]
from deaths import KILL_AT, helpers  # noqa: E402
from managed import left  # noqa: E402
from points import rows, word_of  # noqa: E402
from tap import berm_path, case, main  # noqa: E402
from tier import CLAIM, LEFT  # noqa: E402

LONG = os.environ.get("BERM_TEST_LONG")
BUILD = Path(os.environ["BERM_BUILD"])
PLACE = Path(tempfile.mkdtemp())  # of all cases: each goes on where the last one stopped
PLACE.chmod(0o755)
WORK, STATE = PLACE / "work", PLACE / "state"
BERM_YAML = """schema: 1
entrypoint:
  read: { argv: [bench/read, data.txt] }
  hog: { argv: [bench/hog] }
  wait: { argv: [bench/wait] }
  fail: { argv: [bench/fail] }
  ask: { argv: [bench/ask] }
"""
SCRIPTS = {
    "read": "#!/bin/sh\ncat \"$1\"\n",
    "hog": "#!/bin/sh\nexec head -c 400M /dev/zero | tail -c 400M >/dev/null\n",
    "wait": "#!/bin/sh\necho begun\nexec sleep 1000\n",
    "fail": "#!/bin/sh\nexit 3\n",
    "ask": f"#!/bin/sh\n{berm_path()} context --minimum-tier small --json || exit 4\n"
           f"{berm_path()} context --minimum-tier medium >/dev/null 2>&1\ntest $? = 9\n",
}


def whole(name, **how):
    """A case of the long form."""
    return case(name, **how) if LONG else lambda function: function


def make_work():
    (WORK / ".git").mkdir(parents=True)
    (WORK / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (WORK / "bench").mkdir()
    (WORK / "berm.yaml").write_text(BERM_YAML)
    (WORK / "data.txt").write_text("data\n")
    for name, text in SCRIPTS.items():
        (WORK / "bench" / name).write_text(text)
        (WORK / "bench" / name).chmod(0o755)


def words(tier, *more, work=("bench/read", "data.txt"), name="scan", report="r.json"):
    return ["run", "--cwd", WORK, "--tier", tier, "--workload", name, "--report", PLACE / report, *more, "--", *work]


def report_of(name="r.json"):
    return json.loads((PLACE / name).read_text())


def run(t, tier, *more, status=0, **how):
    """What was done, and its report, which is valid."""
    t.env["XDG_STATE_HOME"] = str(STATE)
    env = how.pop("env", {})
    program = how.pop("program", berm_path())
    done = t.run(program, *words(tier, *more, **how), env=env)
    t.equal(done.status, status, f"{done}\n{report_of()['error']}")
    report = report_of()
    t.equal(t.berm("validate-report", "--file", PLACE / "r.json").status, 0)
    t.equal(report["tier"], tier)
    return done, report


def refused(t, tier, code, *said, **how):
    _, report = run(t, tier, status=121, **how)
    t.equal((report["outcome"], report["error"]["code"]), ("preflight_refused", f"LAMINA_SAFE_{code}"), report["error"])
    reasons = "\n".join(report["preflight"]["reasons"]) + json.dumps(report["preflight"]["checks"])
    for one in said:
        t.contains(reasons, one)


def state_file(name):
    return STATE / "berm" / name


def promoted(t):
    return [(one["workload"], one["tier"]) for one in t.berm("promotions", "--json").json()["promotions"]]


def standing(t):
    return t.berm("fence", "list", "--json").json()["standing"]


def begun(t, *more, work=("bench/wait",), name="wait", report="wait.json"):
    """A run at a tier whose payload has said that it runs."""
    t.env["XDG_STATE_HOME"] = str(STATE)
    child = t.start_berm(*words("small", *more, work=work, name=name, report=report), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    t.equal(child.stdout.readline(), b"begun\n")
    return child


def ended(t, child, how):
    child.send_signal(how)
    child.communicate()
    t.started.remove(child)
    t.wait_until(lambda: left() == ([], []), "nothing to be left")
    return child.returncode


@case("TR-4 the empty state: medium and large are refused for both reasons", deadline_s=60)
def _(t):
    make_work()
    for tier in ("medium", "large")[:2 if LONG else 1]:
        refused(t, tier, "PRODUCTION_ENFORCEMENT_REQUIRED", "no self-test has been made here",
                "workload 'scan' was not promoted at tier small")
    t.equal((promoted(t), standing(t)), ([], []))
    t.equal(CLAIM.is_symlink(), False)


@case("TR-1 TR-2 TR-3 TR-4 FZ-5 qualified, small opens medium, and only for the very same work", deadline_s=90)
def _(t):
    t.env["XDG_STATE_HOME"] = str(STATE)
    done = t.berm("self-test", "--quiet", "--require-production", deadline_s=60)
    t.equal(done.status, 0, done)
    done, report = run(t, "small", "--promote")
    t.equal((done.out, report["outcome"]), (b"data\n", "success"), done)
    t.contains(done.err.decode(), "berm: tier   small: workload scan is promoted")
    path = WORK / "data.txt"
    path.write_text("other data\n")
    refused(t, "medium", "PROMOTION", "which was other work")
    path.write_text("data\n")
    _, report = run(t, "medium", "--promote")
    t.equal(report["preflight"]["promotion"], {"ok": True, "required": ["small"], "completed": ["small"]})
    t.equal(report["preflight"]["attestation"]["valid"], True)
    t.equal((promoted(t), standing(t), CLAIM.is_symlink()), ([("scan", "small"), ("scan", "medium")], [], False))


@whole("TR-3 TR-4 large needs medium, and what was not asked for is no promotion", deadline_s=90)
def _(t):
    run(t, "small", name="unasked")
    t.equal(len(promoted(t)), 2)
    run(t, "small", "--promote", name="steps")
    refused(t, "large", "PROMOTION", "not promoted at tier medium", name="steps")
    run(t, "large", "--promote")
    t.equal(promoted(t), [("scan", "small"), ("scan", "medium"), ("steps", "small"), ("scan", "large")])
    one = t.berm("promotions", "--json").json()["promotions"][-1]
    t.equal(one["report_digest"], hashlib.sha256((PLACE / "r.json").read_bytes()).hexdigest())
    t.equal((one["repository"], one["frozen_digest"]), (str(WORK), report_of()["preflight"]["execution_identity"]))
    t.equal((standing(t), CLAIM.is_symlink()), ([], False))
    t.wait_until(lambda: left() == ([], []), "the watchdogs' scopes to be gone")


@whole("CX-1 TR-1 a program is told the tier that it runs at", deadline_s=60)
def _(t):
    done, _ = run(t, "small", work=["bench/ask"], name="ask")
    t.equal(json.loads(done.out)["tier"], "small")


@whole("TR-2 FZ-2 other work is not promoted: an edited source, an edited argument, another name", deadline_s=60)
def _(t):
    refused(t, "medium", "PROMOTION", "workload 'other' was not promoted", name="other")
    for path in (WORK / "bench/read", WORK / "data.txt"):
        kept = path.read_text()
        path.write_text(kept + "# edited\n")
        refused(t, "medium", "PROMOTION", "which was other work")
        path.write_text(kept)
    run(t, "medium")  # the same bytes are the same work


@whole("TR-2 TR-3 a success of another workload and a failure of this one promote nothing", deadline_s=60)
def _(t):
    run(t, "small", "--promote", status=3, work=["bench/fail"], name="fail")
    t.equal((len(promoted(t)), standing(t)), (4, []))  # it failed by itself: no fence either
    run(t, "small", "--promote", name="other")
    refused(t, "medium", "PROMOTION", "workload 'fail' was not promoted", work=["bench/fail"], name="fail")


@whole("ST-4 TR-4 a tampered report, a broken file, another berm: each takes back what rested on it", deadline_s=60)
def _(t):
    stored = STATE / "berm/self-test/timeout_hang.json"
    kept = stored.read_bytes()
    stored.write_bytes(kept.replace(b"timeout", b"timeeut", 1))
    refused(t, "medium", "PRODUCTION_ENFORCEMENT_REQUIRED", "report of the case timeout_hang")
    stored.write_bytes(kept)
    for name, code in (("promotions.json", "PROMOTION"), ("fences.json", "RETRY_FENCE"),
                       ("self-test.json", "PRODUCTION_ENFORCEMENT_REQUIRED")):
        path = state_file(name)
        kept = path.read_bytes()
        path.write_bytes(kept[:-20])
        refused(t, "medium", code, name)
        t.equal(path.read_bytes(), kept[:-20])
        path.write_bytes(kept)
    (one,) = (one for one in t.berm("promotions", "--json").json()["promotions"]
              if (one["workload"], one["tier"]) == ("scan", "small"))
    path = STATE / f"berm/runs/{one['run_id']}.json"
    kept = path.read_bytes()
    record = json.loads(kept)
    record["report"]["duration_ms"] += 1
    path.write_text(json.dumps(record))
    refused(t, "medium", "PROMOTION", "at tier small does not hold", f"{one['run_id']}.json")
    path.unlink()
    refused(t, "medium", "PROMOTION", "at tier small does not hold")
    path.write_bytes(kept)
    another = PLACE / "berm/berm"
    if not another.exists():
        (PLACE / "fixture").mkdir()
        (PLACE / "fixture/berm-fixture").write_bytes((BUILD / "programs/fixture/berm-fixture").read_bytes())
        another.parent.mkdir()
        another.write_bytes(Path(berm_path()).read_bytes() + b"\0")
        another.chmod(0o755)
    refused(t, "medium", "PRODUCTION_ENFORCEMENT_REQUIRED", "the berm program changed", "which was other work",
            program=another)
    run(t, "medium")


@case("FZ-1 FZ-4 FZ-5 work that hit a limit is fenced, whatever the limits are then, until a person clears it",
      deadline_s=60)
def _(t):
    hog = {"work": ["bench/hog"], "name": "hog"}
    _, report = run(t, "small", "--promote", "--memory", "64M", status=120, **hog)
    t.equal(report["outcome"], "safety_limit_exceeded")
    (fence,) = standing(t)
    t.equal((fence["state"], fence["run_id"]), ("limit", report["run_id"]))
    t.equal(fence["limit"], report["termination"]["limit"])
    for more in ([], ["--memory", "128M", "--timeout", "9s"])[0 if LONG else 1:]:
        _, report = run(t, "small", *more, status=121, **hog)
        t.equal(report["error"]["code"], "LAMINA_SAFE_RETRY_FENCE")
        t.contains(json.dumps(report["preflight"]["checks"]), f"berm fence clear {fence['frozen_digest'][:12]}")
    if LONG:
        refused(t, "small", "RETRY_FENCE", "run " + fence["run_id"], work=["bench/hog"], name="another-name")
    done = t.berm("fence", "clear", fence["frozen_digest"][:12], "--reason", "it was too tight")
    t.equal((done.status, standing(t)), (0, []), done)
    if LONG:
        path = WORK / "bench/hog"
        path.write_text(SCRIPTS["hog"].replace("400M", "4M"))  # mended: other work, which no fence meets
        run(t, "small", **hog)
        path.write_text(SCRIPTS["hog"])


@case("TR-4 EN-3 FZ-5 WD-5 one at a time, who has it is named; berm is killed: its fence stays, the lock is free",
      deadline_s=60)
def _(t):
    first = begun(t)
    t.true(CLAIM.is_symlink() and f" {first.pid} " in os.readlink(CLAIM), "the claim names its holder")
    run_id = os.readlink(CLAIM).split()[5]
    t.env["XDG_STATE_HOME"] = str(PLACE / "elsewhere")  # no setting moves the lock
    done = t.berm(*words("small"))
    report = report_of()
    t.equal((done.status, report["error"]["code"]), (121, "LAMINA_SAFE_CONCURRENCY"), done)
    for one in (f"run {run_id} of user {os.geteuid()}", f"process {first.pid}", "--wait"):
        t.contains(json.dumps(report["preflight"]["checks"]), one)
    t.equal(ended(t, first, signal.SIGKILL), -signal.SIGKILL)
    t.env["XDG_STATE_HOME"] = str(STATE)
    t.equal(report_of("wait.json")["error"]["code"], "LAMINA_SAFE_SUPERVISOR_CRASH")
    (fence,) = standing(t)
    t.equal((fence["workload"], fence["state"], CLAIM.is_symlink()), ("wait", "active", False))
    run(t, "small")
    t.equal(CLAIM.is_symlink(), False)
    t.equal(t.berm("fence", "clear", fence["frozen_digest"][:12], "--reason", "killed by hand").status, 0)


@whole("TR-4 LC-3 --wait waits for its turn, and Ctrl-C ends the wait", deadline_s=90)
def _(t):
    first = begun(t)
    run_id = os.readlink(CLAIM).split()[5]
    waiting = t.start_berm(*words("small", "--wait"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    t.contains(waiting.stderr.readline().decode(), f"berm: wait   for its turn: run {run_id}")
    t.equal(ended_waiting(t, waiting), -signal.SIGINT)
    t.equal(report_of()["error"]["code"], "LAMINA_SAFE_INTERRUPTED")
    patient = t.start_berm(*words("small", "--wait=60s"), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    patient.stderr.readline()
    first.send_signal(signal.SIGINT)
    first.communicate()
    t.started.remove(first)
    patient.communicate()
    t.started.remove(patient)
    t.equal((patient.returncode, report_of()["outcome"]), (0, "success"), report_of()["error"])
    (fence,) = standing(t)
    t.equal((fence["workload"], fence["state"]), ("wait", "interrupted"))
    refused(t, "small", "RETRY_FENCE", "it was interrupted", work=["bench/wait"], name="wait")
    t.equal(t.berm("fence", "clear", fence["frozen_digest"][:12], "--reason", "it was only asked to end").status, 0)


def ended_waiting(t, child):
    child.send_signal(signal.SIGINT)
    child.communicate()
    t.started.remove(child)
    return child.returncode


@whole("TR-5 beside a plain run of this user in a scope no tier begins", deadline_s=60)
def _(t):
    t.env["XDG_STATE_HOME"] = str(STATE)
    plain = t.start_berm("run", "--quiet", "--", "sh", "-c", "echo begun; exec sleep 1000", stdout=subprocess.PIPE)
    t.equal(plain.stdout.readline(), b"begun\n")
    refused(t, "small", "EXISTING_PROCESS", "is on its way")
    t.equal(CLAIM.is_symlink(), False)
    t.equal(ended(t, plain, signal.SIGINT), -signal.SIGINT)


@whole("TR-4 TR-5 WD-5 berm and its watchdog are killed: the next one heals it, and then has the lock", deadline_s=60)
def _(t):
    first = begun(t)
    for pid in [*helpers("watchdog"), first.pid]:
        os.kill(pid, signal.SIGKILL)
    first.communicate()
    t.started.remove(first)
    _, report = run(t, "small")
    t.equal(report["outcome"], "success")
    t.equal((CLAIM.is_symlink(), [one["state"] for one in standing(t)]), (False, ["active"]))


@whole("FZ-1 FZ-5 TR-3 a death at each boundary that only a tier has: the fence, the lock, the promotion", deadline_s=240)
def _(t):
    numbers = {name: (n, after) for n, name, _, after in rows()}
    for name, (fences, promotions) in LEFT.items():
        if name == "SNAPSHOT_TAKEN":
            continue  # nothing is claimed yet: 63-sweep.py
        n, after = numbers[name]
        state = PLACE / f"state-{name}"
        t.env["XDG_STATE_HOME"] = str(state)
        t.run(KILL_AT, "--point", n, PLACE / "killed", berm_path(), *words("small", "--promote", "--quiet"),
              deadline_s=60)
        t.equal((PLACE / "killed").read_text(), "killed 157\n", name)
        t.wait_until(lambda: left() == ([], []), "the watchdog to be done")
        t.equal(word_of((PLACE / "r.json").read_text()), after, name)
        t.equal((len(standing(t)), len(promoted(t))), (fences, promotions), name)
        t.equal(CLAIM.is_symlink(), name != "FENCE_WRITTEN", f"{name}: there is a watchdog that removes it")
        done = t.berm(*words("small", "--promote", "--quiet"))
        t.equal(done.status, 121 if fences else 0, f"{name}: {done}")
        t.equal((len(promoted(t)), CLAIM.is_symlink()), (1 if not fences or promotions else 0, False), name)


def changed_attestation(t, **facts):
    """As if it had been made on another host: a whole one, whose fingerprint is of its facts."""
    path = state_file("self-test.json")
    stored = json.loads(path.read_text())
    stored["host"] |= facts
    hashed = hashlib.sha256()
    for name, value in stored["host"].items():
        for text in (name, value):
            hashed.update(f"{len(text.encode())}:{text}".encode())
    stored["host_fingerprint"] = hashed.hexdigest()
    stored["adapter"] = stored["host"]["adapter"]
    path.write_text(json.dumps(stored))


@whole("ST-4 TR-4 after a reboot, with other controllers or another bubblewrap, medium is refused", deadline_s=90)
def _(t):
    path = state_file("self-test.json")
    kept = path.read_bytes()
    for fact, said in (("boot_id", "the boot changed"),
                       ("root_controllers", "the controllers of the root cgroup changed")):
        changed_attestation(t, **{fact: "another"})
        refused(t, "medium", "PRODUCTION_ENFORCEMENT_REQUIRED", said)
        path.write_bytes(kept)
    other = PLACE / "bwrap"
    other.write_bytes(Path("/usr/bin/bwrap").read_bytes() + b"\0")
    other.chmod(0o755)
    pin = {"BERM_BWRAP_PATH": str(other), "BERM_BWRAP_SHA256": hashlib.sha256(other.read_bytes()).hexdigest()}
    refused(t, "medium", "PRODUCTION_ENFORCEMENT_REQUIRED", "bubblewrap changed", env=pin)
    run(t, "medium")


main()
