#!/usr/bin/python3
"""Places that are full, gone, forbidden, somebody else's or contested: folders, files and
descriptors.
"""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from signal import SIGTERM

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from duel import ATTACK, ROUNDS, record_of, report_of, under_berm  # noqa: E402
from tap import SLOWNESS, berm_path, case, main, state_of  # noqa: E402

NOBODY = 65534


def own_mounts(t, script, *arguments, **how):
    """Run a shell script as root in a mount namespace of its own; BERM is "$0"."""
    if os.geteuid() != 0:
        t.skip("only root may mount everywhere")
    return t.run("unshare", "--mount", "--propagation", "private", "sh", "-euc", script,
                 berm_path(), *arguments, **how)


def check_fallback(t, said):
    """The complete report in the system's temporary folder that stands in for the one that could
    not be written: it is named, checked and removed."""
    names = re.findall(rb"^berm: report (/(?:var/)?tmp/berm-report-\S+\.json)$", said, re.M)
    t.equal(len(names), 1, said)
    path = Path(names[0].decode())
    try:
        t.equal(path.stat().st_mode & 0o777, 0o600)
        report = report_of(path)
        t.equal((report["outcome"], report["termination"]["reason"]),
                ("internal_error", "report_write_failed"))
    finally:
        path.unlink()


FULL = """
mkdir out; mount -t tmpfs -o size=64k tmpfs out
dd if=/dev/zero of=out/filler bs=4k 2>/dev/null || :
exec "$0" run --report out/r.json -- touch ran
"""


@case("D7 RP-4 a full report folder: nothing is run, a complete report lies in /tmp")
def _(t):
    done = own_mounts(t, FULL)
    t.equal(done.status, 125, str(done))
    t.true(not (t.dir / "ran").exists(), "without a place for its report nothing is run")
    check_fallback(t, done.err)


FILLS_UP = """
mkdir out; mount -t tmpfs -o size=8m tmpfs out
"$0" run --report out/r.json -- sh -c 'dd if=/dev/zero of=out/filler bs=4k 2>/dev/null; echo full'
cp out/r.json kept.json
"""


@case("D7 a payload that fills the report folder does not take its own verdict away")
def _(t):
    done = own_mounts(t, FILLS_UP)
    t.equal((done.status, done.out), (0, b"full\n"), str(done))
    t.equal(report_of(t.dir / "kept.json")["outcome"], "success")


READ_ONLY = """
mkdir out; mount -t tmpfs tmpfs out; mount -o remount,ro out
exec "$0" run --report out/r.json -- touch ran
"""


@case("D8 a read-only report folder: as a full one")
def _(t):
    done = own_mounts(t, READ_ONLY)
    t.equal(done.status, 125, str(done))
    t.true(not (t.dir / "ran").exists(), "the payload ran")
    check_fallback(t, done.err)


STATE = """
mkdir -p state; mount -t tmpfs -o size=64k tmpfs state
{prepare}
"$0" run {options} -- sh -c 'echo ran'
"""


@case("a state folder that is full or read-only: only with --report the run goes on")
def _(t):
    for prepare in ("dd if=/dev/zero of=state/filler bs=4k 2>/dev/null || :",
                    "mount -o remount,ro state"):
        done = own_mounts(t, STATE.format(prepare=prepare, options="--report r.json"))
        t.equal((done.status, done.out), (0, b"ran\n"), str(done))
        t.contains(done.err, b"note")
        t.equal(report_of(t.dir / "r.json")["outcome"], "success")
        done = own_mounts(t, STATE.format(prepare=prepare, options=""))
        t.equal((done.status, done.out), (125, b""), str(done))
        check_fallback(t, done.err)


@case("D9 a report path that is a link, dangling or hard: replaced, the target untouched")
def _(t):
    for number, make in enumerate((lambda p: p.symlink_to(t.dir / "target"),
                                   lambda p: p.symlink_to(t.dir / "nowhere"),
                                   lambda p: p.hardlink_to(t.dir / "target"))):
        (t.dir / "target").write_text("precious")
        path = t.dir / f"r{number}.json"
        make(path)
        done = t.berm("run", "--report", path, "--", "true")
        t.equal(done.status, 0, str(done))
        t.true(not path.is_symlink() and path.stat().st_nlink == 1, "a file of its own")
        t.equal(report_of(path)["outcome"], "success")
        t.equal((t.dir / "target").read_text(), "precious")
        t.true(not (t.dir / "nowhere").exists(), "nothing was made at the end of the link")


@case("D9 a report path that is a folder, a FIFO or lies nowhere: refused, nothing is run")
def _(t):
    (t.dir / "folder").mkdir()
    (t.dir / "file").write_text("mine")
    os.mkfifo(t.dir / "fifo")
    for name in ("folder", "folder/", "file/r.json", "fifo/r.json", "/proc/r.json"):
        done = t.berm("run", "--report=" + name, "--", "touch", "ran")
        t.true(done.status in (121, 125) and not (t.dir / "ran").exists(), str(done))
        check_fallback(t, done.err)
    t.equal((t.dir / "file").read_text(), "mine")
    done = t.berm("run", "--report=", "--", "touch", "ran")
    t.true(done.status == 125 and not (t.dir / "ran").exists(), str(done))
    done = t.berm("run", "--report", "fifo", "--", "true")
    t.equal(done.status, 125, str(done))  # and never waited for
    check_fallback(t, done.err)


@case("D9 a parent that somebody else may write: refused with its mode and owner")
def _(t):
    if os.geteuid() != 0:
        t.skip("only root can make a folder of somebody else")
    for name, mode, owner in (("open", 0o777, 0), ("foreign", 0o755, NOBODY)):
        folder = t.dir / name
        folder.mkdir()
        os.chown(folder, owner, owner)
        folder.chmod(mode)
        done = t.berm("run", "--report", folder / "r.json", "--", "touch", "ran")
        t.true(done.status in (121, 125) and not (t.dir / "ran").exists(), str(done))
        t.contains(done.err.decode(), str(folder))
        t.true(not (folder / "r.json").exists(), "nothing was left there")
        check_fallback(t, done.err)
    sticky = t.dir / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    t.equal(t.berm("run", "--report", sticky / "r.json", "--", "true").status, 0)


@case("D9 a file that was no report is kept beside")
def _(t):
    (t.dir / "notes.txt").write_text("mine")
    done = t.berm("run", "--report", "notes.txt", "--", "true")
    t.equal(done.status, 0, str(done))
    kept = list(t.dir.glob("notes.txt.before-*"))
    t.equal([p.read_text() for p in kept], ["mine"])
    t.contains(done.err.decode(), kept[0].name)


def limit_files(soft, hard=None):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard or soft))


@case("D11 few descriptors: done or failed honestly, never hung; the payload's limit is as it was")
def _(t):
    answers = {}
    for count in (5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 32, 40):
        (t.dir / "ran").unlink(missing_ok=True)
        done = t.berm("run", "--", "touch", "ran", preexec_fn=limit_files(count))
        answers[count] = done.status
        t.true(done.status in (0, 121, 125), f"{count}: {done}")
        t.true(done.status == 0 or done.err != b"", f"{count}: nothing was said")
        t.equal((t.dir / "ran").exists(), done.status == 0, f"{count}: {done}")
        if b"berm: report " in done.err:
            check_fallback(t, done.err)
    print(f"# answers by number of descriptors: {answers}")
    t.equal(answers[40], 0, "forty are enough")
    done = t.berm("run", "--", "sh", "-c", "ulimit -n", preexec_fn=limit_files(60, 4096))
    t.equal(done.out, b"60\n", str(done))


@case("D11 more processes than descriptors: all are found and ended")
def _(t):
    found = under_berm(t, "sh", "-c", "for i in $(seq 80); do (trap '' TERM; exec sleep 100) & "
                       "done; echo ready; wait", stop=SIGTERM, preexec_fn=limit_files(48))
    seen = {one["pid"] for one in found["report"]["descendants"]}
    t.true(len(seen) > 80, f"{len(seen)} were seen")


@case("D12 R44 forty descriptors of the caller: none reaches the payload")
def _(t):
    secret = t.dir / "secret"
    secret.write_text("top")
    numbers = [os.open(secret if i % 2 else t.dir, os.O_RDONLY) for i in range(40)]

    def fds(done):
        return {int(line.split()[1]) for line in done.out.decode().splitlines()
                if line.startswith("fd ")}
    try:
        without = fds(t.run(ATTACK, "report", pass_fds=numbers))
        done = t.berm("run", "--", ATTACK, "report", pass_fds=numbers)
        print(f"# careless: {len(without)} descriptors; berm: {sorted(fds(done))}")
        t.true(set(numbers) <= without, "undefended, they are all there")
        # 3 is the folder or file that the fixture itself looks through
        t.equal(fds(done), {0, 1, 2}, str(done))
    finally:
        for number in numbers:
            os.close(number)


@case("D12 a working folder behind a descriptor of the caller is refused or real, never half")
def _(t):
    inside = t.dir / "inside"
    inside.mkdir()
    number = os.open(inside, os.O_RDONLY)
    done = t.berm("run", "--cwd", f"/proc/self/fd/{number}", "--", "pwd", pass_fds=[number])
    os.close(number)
    t.true(done.status == 121 or done.out.decode().strip() == str(inside), str(done))


@case("R6 two hundred runs leave the caller's folders and descriptors as they were", deadline_s=180)
def _(t):
    before = set(os.listdir("/proc/self/fd"))
    count = 200
    script = (f"i=0; while [ $i -lt {count} ]; do "
              "\"$0\" run --quiet --report r.json -- true || exit; i=$((i+1)); done")
    done = t.run("sh", "-c", script, berm_path(), deadline_s=150)
    t.equal((done.status, done.err), (0, b""), str(done))
    t.equal(set(os.listdir("/proc/self/fd")), before)
    names = {p.name for p in t.dir.iterdir()}
    t.equal(names, {"home", "state", "r.json"}, "no temporary file is left")
    runs = list((t.state / "berm/runs").iterdir())
    t.equal((len(runs), {p.suffix for p in runs}), (count, {".json"}))


@case("S7 two runs race for one report: one has it, the other says so", deadline_s=180)
def _(t):
    won = {"both": 0, "one": 0}
    for number in range(ROUNDS):
        path = t.dir / f"r{number}.json"
        both = [t.start_berm("run", "--report", path, "--", "sh", "-c", "exit 0",
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
        ended = [(child.communicate(timeout=30 * SLOWNESS)[1], child.returncode) for child in both]
        report = report_of(path)
        statuses = sorted(status for _, status in ended)
        t.true(statuses in ([0, 0], [0, 125]), f"{ended}")
        won["both" if statuses == [0, 0] else "one"] += 1
        t.equal(report["outcome"], "success", f"{ended} {report}")
        for said, status in ended:
            t.equal(status == 125, b"FAILED" in said, said)
            if status == 125:
                check_fallback(t, said)
        leftovers = [p.name for p in t.dir.iterdir()
                     if p.name not in ("home", "state") and not p.name.startswith("r")]
        t.equal(leftovers, [])
    print(f"# {ROUNDS} rounds: {won['both']} one after the other, {won['one']} with a loser")


@case("I7 a working folder that was removed: refused, nothing is run")
def _(t):
    gone = t.dir / "gone"
    gone.mkdir()
    done = t.run("sh", "-c", f"cd gone && rmdir {gone} && exec \"$0\" run -- touch {t.dir}/ran",
                 berm_path())
    t.equal(done.status, 121, str(done))
    t.contains(done.err, b"removed")
    t.true(not (t.dir / "ran").exists(), "the payload ran")
    t.equal(record_of(t)["report"]["outcome"], "preflight_refused")


@case("R61 records go where XDG says; home stays clean; a relative path is no path")
def _(t):
    t.equal(t.berm("run", "--quiet", "--", "true").status, 0)
    t.equal(list(t.home.iterdir()), [], "home stays clean")
    t.equal(len(list((t.state / "berm/runs").glob("*.json"))), 1)
    done = t.berm("run", "--quiet", "--", "true", env={"XDG_STATE_HOME": "relative"})
    t.equal(done.status, 0, str(done))
    t.true(not (t.dir / "relative").exists(), "the specification says: ignore it")
    t.equal(len(list((t.home / ".local/state/berm/runs").glob("*.json"))), 1)
    for folder in (t.state / "berm/runs", t.home / ".local/state/berm/runs"):
        t.equal(folder.stat().st_mode & 0o777, 0o700)
        t.equal({p.stat().st_mode & 0o777 for p in folder.iterdir()}, {0o600})


@case("HOME unset and no XDG: said, with a report it goes on")
def _(t):
    for name in ("HOME", "XDG_STATE_HOME"):
        del t.env[name]
    done = t.berm("run", "--", "echo", "ran")
    t.equal((done.status, done.out), (125, b""), str(done))
    t.contains(done.err, b"XDG_STATE_HOME")
    check_fallback(t, done.err)
    done = t.berm("run", "--report", "r.json", "--", "echo", "ran")
    t.equal((done.status, done.out), (0, b"ran\n"), str(done))
    t.equal(report_of(t.dir / "r.json")["outcome"], "success")


@case("a state folder that others may write is not trusted")
def _(t):
    runs = t.state / "berm" / "runs"
    runs.mkdir(parents=True, mode=0o700)
    runs.chmod(0o777)
    done = t.berm("run", "--", "touch", "ran")
    t.true(done.status in (121, 125) and not (t.dir / "ran").exists(), str(done))
    check_fallback(t, done.err)


@case("R47 stdin is empty by default; peak memory is there; an aborted run keeps its record")
def _(t):
    done = t.run("sh", "-c", "printf data | \"$0\" run -- cat", berm_path())
    t.equal((done.status, done.out), (0, b""), str(done))
    t.contains(done.err, b"not passed on")
    child = t.start_berm("run", "--report", "r.json", "--", ATTACK, "memory", 64,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    t.equal(child.stdout.readline(), b"ready\n")
    first = json.loads((t.dir / "r.json").read_text())
    t.equal(first["termination"]["reason"], "run_in_progress")
    (payload,) = [int(word) for word in Path(f"/proc/{child.pid}/task/{child.pid}/children")
                  .read_text().split()]
    child.kill()
    child.wait()
    report = report_of(t.dir / "r.json")
    t.equal(report["outcome"], "internal_error", "what stood there first stands still")
    t.wait_until(lambda: state_of(payload) in "-Z", "the first process to die with berm")
    shown = t.berm("show", report["run_id"])
    t.contains(shown.out, b"UNFINISHED")
    child = t.start_berm("run", "--", ATTACK, "memory", 64, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    child.stdout.readline()
    child.terminate()
    child.wait()
    t.true(record_of(t)["memory"]["largest_process_rss_bytes"] > 64 << 20, "64 MiB were seen")


main()
