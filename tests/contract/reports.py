#!/usr/bin/python3
"""Where reports and records go, and what stands there at every moment of a run and after its death."""

import json
import os
import re
import shutil
import signal
import stat
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from tap import SLOWNESS, berm_path, case, children, main
from validate_report import faults_of


def report_in(t, name="r.json"):
    """The report at that place, which must be whole and valid whenever it is looked at."""
    report = json.loads((t.dir / name).read_text())
    t.equal(faults_of(report), [], name)
    return report


def records(t):
    """Records in the state folder by run id."""
    folder = t.state / "berm/runs"
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}


def started(t, *words):
    """berm around a payload that says that it runs by a file and then waits for another."""
    child = t.start_berm("run", *words, "--", "sh", "-c",
                         "touch runs; while [ ! -e go ]; do sleep 0.02; done")
    t.wait_until((t.dir / "runs").exists, "the payload runs")
    return child


def fallbacks(t):
    return {path for path in Path("/tmp").glob("berm-report-*.json")}


def fallback_of(t, before, run_id):
    """The one fallback report of that run; taken away."""
    found = [path for path in fallbacks(t) - before if f"-{run_id}-" in path.name]
    t.equal(len(found), 1, found)
    report = json.loads(found[0].read_text())
    mode = stat.S_IMODE(found[0].stat().st_mode)
    found[0].unlink()
    t.equal(mode, 0o600)
    t.equal(faults_of(report), [])
    return report


@case("RS-2 RS-4 from the start the slot holds a valid report that is no success")
def _(t):
    (t.dir / "r.json").write_text(json.dumps({"schema": "lamina.safe-runner-report/v1",
                                              "outcome": "success"}))
    child = started(t, "--report", "r.json")
    report = report_in(t)
    t.equal((report["outcome"], report["termination"]["reason"], report["error"]["code"]),
            ("internal_error", "run_in_progress", "LAMINA_SAFE_RUN_IN_PROGRESS"))
    (record,) = records(t).values()
    t.equal((record["in_progress"], record["controller"]["pid"]), (True, child.pid))
    (t.dir / "go").touch()
    t.equal(child.wait(20 * SLOWNESS), 0)
    t.equal(report_in(t)["outcome"], "success")
    t.equal([p.name for p in t.dir.iterdir() if "r.json" in p.name or p.name.startswith(".")],
            ["r.json"])


@case("RS-2 after SIGKILL of berm the slot still says that the run had not ended")
def _(t):
    child = started(t, "--report", "r.json")
    child.send_signal(signal.SIGKILL)
    child.wait(20 * SLOWNESS)
    t.equal(report_in(t)["error"]["code"], "LAMINA_SAFE_RUN_IN_PROGRESS")
    (t.dir / "go").touch()
    (t.dir / "runs").unlink()
    t.equal(t.berm("run", "--report", "r.json", "--", "true").status, 0)
    t.equal(report_in(t)["outcome"], "success")
    t.equal(len(records(t)), 2)
    t.wait_until(lambda: not children(), "what the killed run left (a short sleep) has ended")


@case("S7 of two runs with one slot the later owns it, the earlier says where its report is")
def _(t):
    before = fallbacks(t)
    first = started(t, "--report", "r.json")
    (first_id,) = records(t)
    second = t.berm("run", "--report", "r.json", "--", "true")
    t.equal(second.status, 0, second)
    mine = report_in(t)["run_id"]
    (t.dir / "go").touch()
    t.equal(first.wait(20 * SLOWNESS), 125)
    t.equal((report_in(t)["run_id"], report_in(t)["outcome"]), (mine, "success"))
    report = fallback_of(t, before, first_id)
    t.equal((report["run_id"], report["termination"]["reason"]), (first_id, "report_write_failed"))
    t.contains(report["error"]["message"], "belongs to another run")
    t.equal(records(t)[first_id]["report"]["run_id"], first_id)


@case("RP-4 a slot that goes away during the run costs a failure, not the report")
def _(t):
    before = fallbacks(t)
    child = started(t, "--report", "out/r.json")
    (run_id,) = records(t)
    shutil.rmtree(t.dir / "out")
    (t.dir / "go").touch()
    t.equal(child.wait(20 * SLOWNESS), 125)
    report = fallback_of(t, before, run_id)
    t.equal((report["outcome"], report["error"]["code"]),
            ("internal_error", "LAMINA_SAFE_REPORT_WRITE_FAILED"))
    t.contains(report["error"]["message"], "(otherwise: success)")


@case("D9 what cannot be a slot: nothing is run, and the reason is said")
def _(t):
    before = fallbacks(t)
    (t.dir / "folder").mkdir()
    os.mkfifo(t.dir / "fifo")
    for place, words in {"folder": b"is a directory", "fifo": b"no regular file",
                         "/dev/stdout": b"no place for a record", "folder/": b"names a directory",
                         "/proc/self/r.json": b""}.items():
        done = t.berm("run", "--report", place, "--", "touch", "ran")
        t.true(done.status not in (0, None), done)
        t.contains(done.err, words)
    t.true(not (t.dir / "ran").exists(), "the command was run")
    t.true(stat.S_ISFIFO((t.dir / "fifo").stat().st_mode), "the FIFO is gone")
    for path in fallbacks(t) - before:
        t.equal(faults_of(json.loads(path.read_text())), [])
        path.unlink()


@case("D9 a link is replaced, a foreign file is kept beside, and both are said")
def _(t):
    (t.dir / "victim").write_text("victim\n")
    (t.dir / "link.json").symlink_to("victim")
    (t.dir / "thesis").write_text("my thesis\n")
    t.equal(t.berm("run", "--report", "link.json", "--", "true").status, 0)
    t.equal((t.dir / "victim").read_text(), "victim\n")
    t.true(not (t.dir / "link.json").is_symlink(), "still a link")
    done = t.berm("run", "--report", "thesis", "--", "true")
    t.equal(done.status, 0, done)
    (kept,) = t.dir.glob("thesis.before-*")
    t.equal(kept.read_text(), "my thesis\n")
    t.contains(done.err.decode(), kept.name)


@case("D7 D8 a full disk and a read-only folder, on a filesystem of their own")
def _(t):
    if os.geteuid() != 0:
        t.skip("mounting needs root")
    before = fallbacks(t)
    script = """
        set -e
        mkdir small && mount -t tmpfs -o size=2m,mode=0700 berm-test small
        status=0
        "$BERM" run --report small/r.json -- sh -c \
            'dd if=/dev/zero of=small/filler bs=64k 2>/dev/null; exit 3' || status=$?
        [ $status = 3 ] && cp small/r.json full.json
        status=0
        "$BERM" run --report small/late.json -- touch ran || status=$?
        [ $status = 125 ] && [ ! -e ran ] && [ ! -e small/late.json ]
        rm small/filler && mount -o remount,ro small
        status=0
        "$BERM" run --report small/ro.json -- touch ran || status=$?
        [ $status = 125 ] && [ ! -e ran ]
        umount small
    """
    done = t.run("unshare", "-m", "sh", "-c", script, deadline_s=60, env={"BERM": berm_path()})
    t.equal(done.status, 0, done)
    t.equal(report_in(t, "full.json")["outcome"], "command_failed")
    t.contains(done.err, b"No space left on device")
    t.contains(done.err, b"Read-only file system")
    reasons = set()
    for path in fallbacks(t) - before:
        report = json.loads(path.read_text())
        path.unlink()
        t.equal(faults_of(report), [])
        reasons.add(report["termination"]["reason"])
    t.equal(reasons, {"report_write_failed"})


@case("R61 records lie in XDG_STATE_HOME, and the home folder stays clean")
def _(t):
    t.equal(t.berm("run", "--", "true").status, 0)
    t.equal(list(t.home.iterdir()), [])
    folder = t.state / "berm/runs"
    t.equal(stat.S_IMODE(folder.stat().st_mode), 0o700)
    (path,) = folder.iterdir()
    t.equal(stat.S_IMODE(path.stat().st_mode), 0o600)
    done = t.berm("run", "--", "true", env={"XDG_STATE_HOME": "relative"})
    t.equal(done.status, 0, done)
    t.equal(len(list((t.home / ".local/state/berm/runs").iterdir())), 1)
    t.true(not (t.dir / "relative").exists(), "a relative XDG_STATE_HOME was used")


@case("R59 RP-5 a secret in argv or output is in no record, and the kept output is as it was")
def _(t):
    secret = "S3CR3Tvalue"
    script = f"echo 'password: {secret}'; echo 'Authorization: Bearer {secret}' >&2"
    done = t.berm("run", "--keep-output", "--report", "r.json", "--json=run.json", "--", "sh", "-c",
                  script, "x", "--token", secret, f"https://joe:{secret}@example.org")
    t.equal(done.status, 0, done)
    t.contains(done.out.decode(), secret)  # passed through byte for byte
    texts = [(t.dir / name).read_text() for name in ("r.json", "run.json")]
    texts += [path.read_text() for path in (t.state / "berm/runs").glob("*.json")]
    shown = t.berm("show", "last")
    texts += [(shown.out + shown.err).decode()]
    for text in texts:
        t.true(secret not in text, text)
    report = report_in(t)
    t.equal(report["output"]["stdout_tail"], "password: [REDACTED]\n")
    (kept,) = (t.state / "berm/runs").glob("*.stdout")
    t.equal(kept.read_text(), f"password: {secret}\n")


@case("O5 a secret that comes in two writes, and one that the start of the tail cuts")
def _(t):
    script = ("printf 'TOKEN=S3C'; sleep 0.1; printf 'R3T\\n'; "
              "printf 'password: S3CR3T'; head -c 16370 /dev/zero | tr '\\0' x; echo; echo end")
    t.equal(t.berm("run", "--quiet", "--report", "r.json", "--", "sh", "-c", script).status, 0)
    report = report_in(t)
    t.true("R3T" not in report["output"]["stdout_tail"], report["output"]["stdout_tail"][:100])
    t.true(report["output"]["stdout_tail"].endswith("end\n"), "the end is missing")
    t.equal(report["output"]["truncated"], True)
    t.true(len(report["output"]["stdout_tail"].encode()) <= 8192, "too long")


main()
