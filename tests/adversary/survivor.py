#!/usr/bin/python3
"""A process that berm may not signal: a set-uid program that an ordinary user's payload started. It
cannot be ended; so it must be named, and nothing may be called a success.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from duel import ATTACK, record_of, report_of  # noqa: E402
from tap import SLOWNESS, berm_path, case, main  # noqa: E402

NOBODY = 65534


def as_nobody(t):
    """berm and the attack where nobody may execute them, one that becomes root by that, and where
    reports may be put. UNTOUCHABLE names one that is ready for the ordinary user that we are."""
    ready = os.environ.get("UNTOUCHABLE")
    if ready:
        return (berm_path(),), ATTACK, ready, t.dir
    if os.geteuid() != 0:
        t.skip("only root can make a set-uid root program")
    if os.statvfs(t.dir).f_flag & os.ST_NOSUID:
        t.skip(f"set-uid programs have no effect in {t.dir} (mounted nosuid)")
    status = Path("/proc/self/status").read_text()
    if "NoNewPrivs:\t1" in status:
        t.skip("set-uid programs have no effect here (no_new_privs)")
    t.dir.chmod(0o755)
    for source in (berm_path(), ATTACK):
        shutil.copy(source, t.dir / Path(source).name)
    guarded = t.dir / "guarded"
    guarded.mkdir(mode=0o755)
    shutil.copy(ATTACK, guarded / "untouchable")
    (guarded / "untouchable").chmod(0o4755)
    theirs = t.dir / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    t.state = theirs / "state"
    t.env |= {"HOME": str(theirs), "XDG_STATE_HOME": str(t.state), "TMPDIR": str(theirs)}
    berm = "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", t.dir / "berm"
    return berm, t.dir / "attack", guarded / "untouchable", theirs


class Kept:
    """Standard input of the survivor, whose end ends it, and its pidfd, through which root can."""

    def __init__(self):
        self.theirs, ours = os.pipe()
        self.ours = open(ours, "wb")
        self.pidfd = None

    def __enter__(self):
        return self

    def watch(self, pid):
        self.pidfd = os.pidfd_open(pid)

    def end(self):
        self.ours.close()
        os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED)  # our child by now: we are a subreaper

    def __exit__(self, *_):
        self.ours.close()
        if self.pidfd is not None:
            try:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
            os.close(self.pidfd)


def survive(t, berm, report, *command, stop=False):
    """(berm's Popen after its end, its words, the survivor's pid)"""
    with Kept() as kept:
        child = t.start(*berm, "run", "--grace-ms", 50, "--report", report, "--stdin", "inherit",
                        "--", *command, stdin=kept.theirs, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
        os.close(kept.theirs)
        pid = int(child.stdout.readline().split()[1])
        kept.watch(pid)
        if stop:
            child.terminate()
        _, said = child.communicate(timeout=30 * SLOWNESS)
        lives = Path(f"/proc/{pid}/stat").exists()
        status = Path(f"/proc/{pid}/status").read_text() if lives else ""
        kept.end()
        t.true(lives, "it survived berm, as it must for this proof")
        t.contains(status, "Uid:\t0\t0\t0\t0")
    return child, said.decode(), pid


@case("T3 a set-uid survivor: cleanup_incomplete, pid and name told, exit 125, never success",
      deadline_s=120)
def _(t):
    berm, attack, untouchable, theirs = as_nobody(t)
    child, said, pid = survive(t, berm, theirs / "r.json", attack, "leave-untouchable",
                               untouchable)
    t.equal(child.returncode, 125, said)
    report = report_of(theirs / "r.json")
    t.equal((report["outcome"], report["termination"]["reason"]),
            ("internal_error", "cleanup_incomplete"))
    t.contains(report["error"]["code"], "CLEANUP_INCOMPLETE")
    t.contains(report["cleanup"]["descendants_remaining"], pid)
    for words in (report["error"]["message"], said):
        t.contains(words, str(pid))
        t.contains(words, "untouchable")
    t.true("proved" not in said and "berm: ok" not in said, said)
    record = record_of(t)
    t.equal([one["pid"] for one in record["survivors"]], [pid])
    print(f"# {record['timing']['stop_ns'] // 1_000_000} ms until it was given up"
          if record["timing"]["stop_ns"] else "#")
    for word in ("last", str(theirs / "r.json")):
        t.contains(t.run(*berm, "show", word).out.decode(), str(pid))


@case("T3 a set-uid survivor when berm is told to stop: no success, and the caller hears both",
      deadline_s=120)
def _(t):
    berm, attack, untouchable, theirs = as_nobody(t)
    child, said, pid = survive(t, berm, theirs / "r.json", attack, "keep-untouchable",
                               untouchable, stop=True)
    report = report_of(theirs / "r.json")
    t.equal(report["outcome"], "internal_error")
    t.contains(report["cleanup"]["descendants_remaining"], pid)
    t.contains(said, str(pid))
    t.true(child.returncode in (125, -signal.SIGTERM), child.returncode)


main()
