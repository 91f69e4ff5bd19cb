#!/usr/bin/python3
"""Every way that a run can end leaves one valid record, the same in every place that shows it."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "lib"))
from tap import SLOWNESS, berm_path, case, main  # noqa: E402
from validate_report import faults_of  # noqa: E402

SH = ["sh", "-c"]
# (exit status, outcome, reason, limit, child exit code, options and command)
WAYS = [
    (0, "success", "completed", None, 0, ["true"]),
    (0, "success", "completed", None, 0,
     ["--grace-ms", "20", *SH, "(trap '' TERM; sleep 100) & exit 0"]),
    (7, "command_failed", "command_failed", None, 7, [*SH, "exit 7"]),
    (255, "command_failed", "command_failed", None, 255, [*SH, "exit 255"]),
    (139, "command_failed", "command_failed", None, 139, [*SH, "kill -SEGV $$"]),
    (137, "command_failed", "command_failed", None, 137, [*SH, "kill -KILL $$"]),
    (124, "safety_limit_exceeded", "safety_limit_exceeded", "timeout", None,
     ["--timeout", "300ms", "sleep", "100"]),
    (124, "safety_limit_exceeded", "safety_limit_exceeded", "timeout", None,
     ["--timeout", "300ms", *SH, "trap 'exit 0' TERM; while :; do sleep 0.05; done"]),
    (120, "safety_limit_exceeded", "safety_limit_exceeded", "output", None,
     ["--output-max", "10", *SH, "echo 12345678901234567890; sleep 100"]),
    (120, "safety_limit_exceeded", "safety_limit_exceeded", "pids", None,
     ["--tasks", "3", *SH, "sleep 100 & sleep 100 & sleep 100 & sleep 100 & wait"]),
    (120, "safety_limit_exceeded", "safety_limit_exceeded", "memory", None,
     ["--memory", "20M", "/usr/bin/python3", "-c",
      "import time; x = bytearray(60 << 20); time.sleep(100)"]),
    (121, "preflight_refused", "preflight_refused", None, None, ["--require", "managed", "true"]),
    (121, "preflight_refused", "preflight_refused", None, None, ["--cwd", "missing", "true"]),
    (121, "preflight_refused", "preflight_refused", None, None, ["--memory", "1000T", "true"]),
    (121, "preflight_refused", "preflight_refused", None, None, ["--env", "LD_PRELOAD=x", "true"]),
    (121, "preflight_refused", "preflight_refused", None, None, ["--stdin", "missing", "true"]),
    (126, "command_failed", "command_failed", None, 126, ["./text"]),
    (127, "preflight_refused", "preflight_refused", None, None, ["no-such-program"]),
]


def records_of(t, run):
    """The same run from every place: (record, report)."""
    record = json.loads((t.dir / "record.json").read_text())
    report = json.loads((t.dir / "report.json").read_text())
    kept = json.loads((t.state / f"berm/runs/{record['run_id']}.json").read_text())
    shown = t.berm("show", "--json", record["run_id"]).json()
    t.equal(kept, record, f"{run}: the state folder's record is --json's")
    t.equal(shown, record, f"{run}: and what show says")
    t.equal(record["report"], report, f"{run}: the named report is the part of it")
    return record, report


@case("RP-2 every way to end: exit status, outcome and record agree, and the record is valid",
      deadline_s=150)
def _(t):
    (t.dir / "text").write_text("no program")
    (t.dir / "text").chmod(0o755)
    for status, outcome, reason, limit, code, run in WAYS:
        done = t.berm("run", "--report", "report.json", "--json=record.json", *run)
        t.equal(done.status, status, done)
        record, report = records_of(t, run)
        t.equal(faults_of(report), [], run)
        end = report["termination"]
        t.equal((report["outcome"], end["reason"], end["limit"]), (outcome, reason, limit), run)
        if code is not None:
            t.equal(end["child_exit_code"], code, run)
        t.equal(record["exit"]["code"], status, run)
        valid = t.berm("validate-report", "--file", "report.json")
        t.equal(valid.status, 0, f"{run} {valid}")
        t.equal(report["error"] is None, outcome == "success", run)
        said = b"".join(line for line in done.err.splitlines(True) if line.startswith(b"berm: "))
        t.equal(t.berm("show", record["run_id"]).out, said, "show repeats the summary")
        t.equal({p.stat().st_mode & 0o777 for p in (t.dir / "report.json", t.dir / "record.json")},
                {0o600}, run)


@case("RP-2 interrupted before and after the start: valid, and the signal is named")
def _(t):
    for number in (signal.SIGINT, signal.SIGTERM):
        child = t.start_berm("run", "--report", "report.json", "--json=record.json", "--", *SH,
                             "echo ready; sleep 100", stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        child.stdout.readline()
        child.send_signal(number)
        t.equal(child.wait(20 * SLOWNESS), -number)
        record, report = records_of(t, number)
        t.equal((faults_of(report), report["outcome"], record["exit"]["signal"]),
                ([], "interrupted", number.name))
    for wait in range(10):  # somewhere in the start, or before it; each ends somehow, and validly
        (t.dir / "report.json").unlink(missing_ok=True)
        child = t.start_berm("run", "--report", "report.json", "--", "sleep", "100",
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        t.wait_until((t.dir / "report.json").exists, "the provisional report")
        t.equal(faults_of(json.loads((t.dir / "report.json").read_text())), [], "in progress")
        t.run("sleep", wait / 1000)
        child.terminate()
        _, said = child.communicate(timeout=20 * SLOWNESS)
        report = json.loads((t.dir / "report.json").read_text())
        t.equal((child.returncode, faults_of(report), report["termination"]["reason"]),
                (-signal.SIGTERM, [], "interrupted"), said)


@case("--label, --env and --keep-output stand in the record; values of variables do not")
def _(t):
    t.berm("run", "--json=record.json", "--label", "nightly \u00e9",
           "--env", "GREETING=hello-value", "--keep-output", "--", *SH,
           "printf out; printf err >&2")
    record = json.loads((t.dir / "record.json").read_text())
    t.equal(record["label"], "nightly \u00e9")
    t.contains(record["environment"]["passed"], "GREETING")
    t.true("hello-value" not in json.dumps(record), "RP-5: the child's environment is not recorded")
    for stream, text in (("stdout", b"out"), ("stderr", b"err")):
        path = Path(record["output"][stream]["kept_file"])
        t.equal((path.read_bytes(), path.stat().st_mode & 0o777), (text, 0o600))
    t.contains(t.berm("show", "last").out.decode(), "nightly")


GUARANTEES = ("filesystem writable-roots network descendants memory pids swap temp-bytes "
              "temp-inodes control-sockets syscalls").split()


SCOPE_GUARANTEES = {"memory", "pids", "swap"}  # a sandbox alone does not enforce them
AS_NOBODY = ["--user", "65534:65534"] if os.geteuid() == 0 else []


@case("CT-3 --require NAME asks for what it takes, or refuses with what was seen and what helps")
def _(t):
    adapter = t.berm("envelope", "--json").json()["adapter"]
    t.equal(set(adapter["guarantees"]), set(GUARANTEES))
    could = adapter["with_sandbox"]
    t.equal(set(could["enforced"]), set(GUARANTEES) - SCOPE_GUARANTEES, could)
    t.equal(could["option"], "--sandbox --user NAME" if AS_NOBODY else "--sandbox")
    told = f"with {could['option']}: {' '.join(could['enforced'])}\n"
    t.contains(t.berm("envelope").out.decode(), told)
    for name in GUARANTEES + ["managed", "network,memory"]:
        wanted = GUARANTEES if name == "managed" else name.split(",")
        missing = SCOPE_GUARANTEES & set(wanted)
        sandboxed = set(wanted) - SCOPE_GUARANTEES
        done = t.berm("run", "--report", "report.json", "--json=record.json", "--cwd", "/",
                      "--require", name, *AS_NOBODY, "--", "echo", "ran")
        t.equal((done.status, done.out), (121, b"") if missing else (0, b"ran\n"), done)
        held = json.loads((t.dir / "record.json").read_text())["guarantees"]
        t.equal({one for one in sandboxed if held[one]["level"] != "enforced"},
                sandboxed if missing else set())
        checks = json.loads((t.dir / "report.json").read_text())["preflight"]["checks"]
        failed = {one["code"]: one for one in checks if not one["ok"]}
        t.equal(set(failed), {f"preflight.guarantee.{one}" for one in missing})
        for one in missing:
            t.contains(done.err.decode(), f"{one} cannot be enforced")
        for check in failed.values():
            t.true(check["saw"] and check["remedy"], check)
        for word in ("berm: saw ", "berm: fix ", "berm: here ", told) if missing else ():
            t.contains(done.err.decode(), word)


@case("EN-1 EN-2 EN-3 the envelope: the figures of this host, and nothing is started or written")
def _(t):
    seen = t.berm("envelope", "--json").json()
    total = int(re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text()).group(1)) * 1024
    limits = seen["limits"]
    t.true(abs(seen["total_memory_bytes"] - total) <= 1 << 20 or seen["memory_bound_by"]
           != "/proc/meminfo", seen)
    t.true(limits["memory_max_bytes"] <= min(3 << 30, total // 4), limits)
    t.equal((limits["pids_max"], limits["concurrency"], limits["os_reserve_bytes"]),
            (64, 1, 2 << 30))
    plain = seen["plain"]["memory_bytes"]
    t.true(plain <= seen["available_memory_bytes"] - (2 << 30), "the reserve stays")
    t.true(not t.state.exists() and list(t.home.iterdir()) == [], "read-only")


# The face of berm as it was designed, as far as it exists: what each page of help must name.
FACE = {
    ("help",): "run show envelope validate-report gc",
    ("run", "--help"): "--memory --tasks --timeout --output-max --memory-mib --pids --timeout-ms "
                       "--require managed --stdin null inherit FILE --cwd --env --env-all "
                       "--report --keep-output --label --json --quiet --explain --exit-mode "
                       "outcome bisect none 120 124 121 125 126 127 128+n",
    ("show", "--help"): "ID FILE last --json",
    ("gc", "--help"): "--state --dry-run",
    ("validate-report", "--help"): "--file --json",
    ("envelope", "--help"): "--json",
}


@case("help names every option and exit code there is")
def _(t):
    for page, words in FACE.items():
        text = t.berm(*page).out.decode()
        for word in words.split():
            t.true(word in text, f"{page}: {word} in {text}")


@case("gc --state keeps the newest 500 and what is in use")
def _(t):
    t.berm("run", "--quiet", "--", "true")
    runs = t.state / "berm/runs"
    (first,) = runs.iterdir()
    record = first.read_text()
    own = json.loads(record)["run_id"]
    letters = "0123456789abcdefghjkmnpqrstvwxyz"
    for i in range(520):
        name = "z" + letters[i // 1024 % 32] + letters[i // 32 % 32] + letters[i % 32] + "00"
        (runs / f"{name}.json").write_text(record.replace(own, name))
        (runs / f"{name}.json").chmod(0o600)
    dry = t.berm("gc", "--state", "--dry-run", "--json").json()
    t.equal((dry["removed_runs"], dry["kept_runs"]), (21, 500))
    t.equal(len(list(runs.iterdir())), 521, "a dry run removes nothing")
    t.equal(t.berm("gc", "--state").status, 0)
    t.equal(len(list(runs.iterdir())), 500)


main()
