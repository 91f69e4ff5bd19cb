#!/usr/bin/python3
# run as: user
"""Links in the temporary folders of declared work, and what else fills them."""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
from tap import berm_path, case, main  # noqa: E402
from tier import repository  # noqa: E402

FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


def run(t, script, *options, tier=True):
    """(what was done, the record) of the script, at a tier or in a sandbox like any other."""
    t.dir.chmod(0o755)
    top = repository(t.dir / "top", script)
    (top / "data").write_text("frozen\n")
    if not (top / "link").is_symlink():
        (top / "link").symlink_to("data")
    how = ["--tier", "small", "--workload", "w", "--report", t.dir / "r.json"] if tier else ["--sandbox"]
    done = t.run(berm_path(), "run", "--json=../record.json", *how, *options, "--", "./bench/work" if not tier else
                 "bench/work", cwd=top, deadline_s=60)
    record = json.loads((t.dir / "record.json").read_text())
    if tier:
        t.equal(t.berm("validate-report", "--file", t.dir / "r.json").status, 0, str(record["report"]))
    return done, record["report"]


def stopped(t, done, report, limit):
    t.equal((done.status, report["outcome"], report["termination"]["limit"]),
            (120, "safety_limit_exceeded", limit), f"{done} {report['error']}")
    return report["preflight"].get("temporary_limit_diagnostic")


@case("SB-8 links of the repository are followed at a tier, and files and folders in the temporary folders are none")
def _(t):
    done, report = run(t, "cat link; for f in /tmp /var/tmp /dev/shm; do mkdir $f/a && echo x >$f/a/b; done\n"
                          "mkfifo /tmp/fifo; ln /tmp/a/b /tmp/hard; readlink /dev/fd\n")
    t.equal((done.status, done.out), (0, b"frozen\n/proc/self/fd\n"), f"{done} {report['error']}")
    t.true("temporary_limit_diagnostic" not in report["preflight"], str(report["preflight"]))


@case("SB-8 R21 a link in a temporary folder leads nowhere at a tier, and ends the run; without a tier it does neither")
def _(t):
    script = "ln -s /etc/hostname /tmp/out && cat /tmp/out; ln -s x /dev/shm/y\n"
    # A sample may meet the first link at once: the command is asked to end then, and first follows it all the same.
    done, report = run(t, f"trap '' TERM; {script}trap - TERM; exec sleep 1000\n")
    found = stopped(t, done, report, "temporary_symlink")
    t.true(0 < len(found["paths"]) == found["symlinks"] and set(found["paths"]) <= {"tmp/out", "dev/shm/y"}, str(found))
    t.equal((done.out, found["obstacle"]), (b"", None))
    t.contains(done.err.decode(), "Too many levels of symbolic links")
    done, report = run(t, script, tier=False)
    t.equal((done.status, done.out), (0, Path("/etc/hostname").read_bytes()), str(done))


@case("SB-8 D5 a link that is the last act of the command makes no success of it, whatever it is called")
def _(t):
    # A sample may meet the link before the command has ended: that one is asked to end then, and ends by itself.
    done, report = run(t, "trap '' TERM; cd /var/tmp; mkdir -p a/b; ln -s x \"a/b/$(printf '\\377\\033[1m')\"\n")
    found = stopped(t, done, report, "temporary_symlink")
    t.equal((found["symlinks"], found["paths"]), (1, ["var/tmp/a/b/\\xff\\x1b[1m"]))
    t.equal(report["termination"]["child_exit_code"], 0)


@case("SB-8 D5 what cannot be looked into is as good as a link: a folder that may not be read, folders too deep")
def _(t):
    done, report = run(t, "mkdir -m 0 /tmp/s\n")
    found = stopped(t, done, report, "temporary_symlink")
    t.equal((found["symlinks"], found["obstacle_path"], found["obstacle_errno"]), (0, "tmp/s", "EACCES"), str(found))
    done, report = run(t, "cd /tmp; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do mkdir -p a/a/a/a/a/a/a/a/a/a; "
                          "cd a/a/a/a/a/a/a/a/a/a; done\n")
    found = stopped(t, done, report, "temporary_symlink")
    t.contains(found["obstacle"], "at most 128 folders")
    t.contains(report["error"]["message"], "flatter")


@case("SB-8 a storm of files, and more bytes than the quota, end it too, by their own names")
def _(t):
    done, report = run(t, "i=0; while true >/tmp/$i; do i=$((i + 1)); done; exec sleep 1000\n",
                       "--temporary-files", "300")
    t.equal(stopped(t, done, report, "temporary_inodes"), None)
    done, report = run(t, "head -c 2M /dev/zero >/dev/shm/x; exec sleep 1000\n", "--temporary-mib", "1")
    t.equal(stopped(t, done, report, "temporary_disk"), None)


main()
