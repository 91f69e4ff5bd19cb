"""Cases of an integration test, shown as TAP.

    import sys
    sys.path.insert(0, ...)  # tests/lib
    from tap import case, main

    @case("T1 a daemonised grandchild is found and ended")
    def _(t):
        done = t.berm("run", "--", "sh", "-c", "setsid sleep 100 & echo hi")
        t.equal(done.out, b"hi\\n")

    main()

A case gets an empty folder of its own (t.dir, also TMPDIR, with HOME and the XDG folders below it),
and fails when a process that it caused is still there afterwards: the test is a subreaper, so an
orphan becomes its child. What t.start() began is ended first and does not count. Every wait has a
hard deadline, multiplied by TEST_SLOWNESS. Nothing is retried. Signals that end a program do so in
a case, also where the caller ignores them (nohup, a shell's &).

Every report that berm left, in a record of its state folder or where --report named it, is judged by the
independent validator: one that is not valid fails the case, unless it says that it damages them
(t.damages_reports()).

The name of a case carries the ids it proves. `program [WORD]...` runs the cases whose name holds a
WORD; one that no name holds is an error. BERM names the program under test; without it, the one on PATH.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

PASSED_ON = ("PATH", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS",
             "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
PR_SET_CHILD_SUBREAPER = 36
SLOWNESS = float(os.environ.get("TEST_SLOWNESS", "1"))

sys.path.append(str(Path(__file__).resolve().parent.parent / "contract"))
from validate_report import faults_of  # noqa: E402

REPORT = "lamina.safe-runner-report/v1"
cases = []
judged = 0  # reports


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def case(name, deadline_s=60):
    """Register a function as the case `name`; it fails when it takes longer than deadline_s."""
    def register(function):
        cases.append((name, deadline_s, function))
        return function
    return register


class Finished:
    """A command that ended: status (None when a signal ended it), signal, out, err (bytes)."""

    def __init__(self, argv, code, out, err):
        self.argv, self.out, self.err = argv, out, err
        self.status = code if code >= 0 else None
        self.signal = -code if code < 0 else None

    def json(self):
        return json.loads(self.out)

    def __str__(self):
        return (f"{' '.join(map(str, self.argv))}: status {self.status}, signal {self.signal}\n"
                f"out: {self.out[-2000:]!r}\nerr: {self.err[-2000:].decode(errors='replace')}")


class Test:
    """What a case is handed."""

    def __init__(self, folder):
        self.dir = folder
        self.home = folder / "home"
        self.state = folder / "state"
        self.home.mkdir()
        self.started = []
        self.named_reports = set()
        self.reports_are_judged = True
        self.env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        self.env |= {"HOME": str(self.home), "TMPDIR": str(folder),
                     "XDG_STATE_HOME": str(self.state), "XDG_CONFIG_HOME": str(folder / "config"),
                     "XDG_CACHE_HOME": str(folder / "cache")}

    # -- commands

    def start(self, *argv, env=None, **popen):
        """A subprocess.Popen in self.dir; ended with the case."""
        popen.setdefault("stdin", subprocess.DEVNULL)
        popen.setdefault("cwd", self.dir)
        words = [str(a) for a in argv]
        named = [after for word, after in zip(words, words[1:]) if word == "--report"]
        named += [word.partition("=")[2] for word in words if word.startswith("--report=")]
        self.named_reports |= {Path(popen["cwd"], name) for name in named}
        child = subprocess.Popen(words, env=self.env | (env or {}), **popen)
        self.started.append(child)
        return child

    def run(self, *argv, stdin=None, deadline_s=30, **popen):
        """Run to its end, with all output kept."""
        feed = {} if stdin is None else {"stdin": subprocess.PIPE}
        child = self.start(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **feed, **popen)
        try:
            out, err = child.communicate(stdin, timeout=deadline_s * SLOWNESS)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{argv} did not end in {deadline_s} s\nout: {late.stdout!r}\n"
                         f"err: {late.stderr!r}") from None
        self.started.remove(child)
        return Finished(argv, child.returncode, out, err)

    def berm(self, *arguments, **how):
        return self.run(berm_path(), *arguments, **how)

    def start_berm(self, *arguments, **how):
        return self.start(berm_path(), *arguments, **how)

    # -- claims

    def equal(self, actual, expected, what=""):
        if actual != expected:
            raise Failed(f"{what}: expected {expected!r}\n     got {actual!r}")

    def true(self, condition, what):
        if not condition:
            raise Failed(str(what))

    def contains(self, whole, part):
        if part not in whole:
            raise Failed(f"{part!r} is not in\n{whole!r}")

    def skip(self, reason):
        raise Skipped(reason)

    def wait_until(self, condition, what, deadline_s=10):
        """The last resort, for what sends no event: look until it is so. Returns what it saw."""
        end = time.monotonic() + deadline_s * SLOWNESS
        while not (seen := condition()):
            if time.monotonic() > end:
                raise Failed(f"waited {deadline_s} s in vain for: {what}")
            time.sleep(0.005)
        return seen

    def damages_reports(self):
        self.reports_are_judged = False

    def end_started(self):
        for child in self.started:
            child.kill()
            child.wait()


def berm_path():
    path = os.environ.get("BERM") or shutil.which("berm")
    if not path:
        raise Failed("no berm: set BERM, or run the test through meson")
    return os.path.abspath(path)  # cases run in folders of their own


def state_of(pid):
    """The letter of the state of a process; "-" when there is none (a read can meet its end as well)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "-"


def names_of_all():
    """(pid, name) of every process that is no zombie: those wait for their parent alone, and hold nothing."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                name = Path("/proc", entry, "comm").read_text(errors="replace").strip()
            except (FileNotFoundError, ProcessLookupError):
                continue  # gone meanwhile
            if state_of(entry) not in "-Z":
                found.append((int(entry), name))
    return found


def children():
    """Living children of this process as "pid name" (zombies are reaped on the way)."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                head, _, tail = (entry / "stat").read_text(errors="replace").rpartition(")")
            except OSError:
                continue  # gone meanwhile
            if int(tail.split()[1]) == os.getpid():
                found.append((int(entry.name), head.partition("(")[2]))
    return found


def end_survivors():
    """Fail because of children that are left, after ending them."""
    survivors = []
    while left := children():  # whoever is ended here may leave children of its own to us
        survivors += left
        for pid, _ in left:
            os.kill(pid, signal.SIGKILL)  # a child that nobody else reaps: the pid is still its own
            os.waitpid(pid, 0)
    if survivors:
        names = ", ".join(f"{pid} ({name})" for pid, name in survivors)
        raise Failed(f"left behind: {names}")


def report_in(path):
    """The report that a file is or holds, or None where it is none of berm's."""
    try:
        value = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError):
        return None
    value = value.get("report", value) if isinstance(value, dict) else None
    return value if isinstance(value, dict) and value.get("schema") == REPORT else None


def judge_reports(test):
    """What lies in the folder of records is berm's; what --report named may have been there before."""
    global judged
    if not test.reports_are_judged:
        return
    records = list(test.state.glob("berm/runs/*.json"))
    for path in [*records, *(path for path in test.named_reports if test.dir in path.parents)]:
        report = report_in(path)
        if report is None and path not in records:
            continue
        judged += 1
        if report is None or (faults := faults_of(report)):
            raise Failed(f"{path.name} is not valid: {'no report is in it' if report is None else faults}")


def ring(*_):
    raise Failed("the case took too long")


def perform(deadline_s, function):
    """(passed, skip reason, diagnostics)"""
    with tempfile.TemporaryDirectory(prefix="berm-test-", ignore_cleanup_errors=True) as folder:
        test = Test(Path(folder))
        outcome = (True, None, "")
        signal.setitimer(signal.ITIMER_REAL, deadline_s * SLOWNESS)
        try:
            function(test)
        except Skipped as skipped:
            outcome = (True, str(skipped), "")
        except Failed as failed:
            place = traceback.extract_tb(failed.__traceback__)[1]
            outcome = (False, None, f"{failed}\nat {place.filename}:{place.lineno}")
        except Exception:
            outcome = (False, None, traceback.format_exc())
        signal.setitimer(signal.ITIMER_REAL, 0)
        test.end_started()
        try:
            end_survivors()
            judge_reports(test)
        except Failed as failed:
            outcome = (False, None, f"{outcome[2]}\n{failed}".strip())
    return outcome


def main():
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("tap: cannot become a subreaper")
    signal.signal(signal.SIGALRM, ring)
    for ending in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(ending) == signal.SIG_IGN:
            signal.signal(ending, signal.SIG_DFL)
    words = sys.argv[1:]
    for word in words:
        if not any(word in c[0] for c in cases):
            sys.exit(f"tap: no case has {word!r} in its name")
    chosen = [c for c in cases if not words or any(word in c[0] for word in words)]
    print(f"1..{len(chosen)}", flush=True)
    failures = 0
    for number, (name, deadline_s, function) in enumerate(chosen, 1):
        passed, skip_reason, diagnostics = perform(deadline_s, function)
        failures += not passed
        skip = "" if skip_reason is None else f" # SKIP {skip_reason}"
        print(f"{'' if passed else 'not '}ok {number} - {name}{skip}")
        print("".join(f"# {line}\n" for line in diagnostics.splitlines()), end="", flush=True)
    if judged:
        print(f"# {judged} reports were judged by the independent validator")
    sys.exit(1 if failures else 0)
