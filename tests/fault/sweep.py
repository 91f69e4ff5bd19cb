#!/usr/bin/python3
"""Every kernel call of a `berm run` is made to fail once: no crash, no leak, nothing left, a record.

For each scenario the calls are counted in a run of their own; then call N fails, for every N, in the
controller and in the child between creation and exec. After each: berm ended by itself and in time,
not by a signal; no process is left (the harness is a subreaper); somewhere (state folder, named report,
fallback) there is a valid record that says how it ended, and it is no success unless berm's exit says so.

In the long form (BERM_TEST_LONG) also with several errnos, and with every later call failing as well:
then there may be no place left for a record, but still no crash, no leak and nothing left over.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "contract"))
from scenarios import SCENARIOS, prepare
from tap import SLOWNESS, berm_path, case, children, main
from validate_report import faults_of

LAUNCHER_CALLS = 450  # more than it makes
LONG = bool(os.environ.get("BERM_TEST_LONG"))
ERRNOS = ["EIO", "ENOSPC", "EMFILE", "ENOSYS", "EPERM"] if LONG else ["EIO"]


def one_run(t, number, arguments, fault=None, log=None):
    """A run in a folder of its own: (exit status, stderr, folder)."""
    folder = t.dir / f"{number}"
    (folder / "out").mkdir(parents=True)
    prepare(folder)
    env = t.env | {"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"),
                   "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=1", "UBSAN_OPTIONS":
                   "halt_on_error=1:abort_on_error=1:print_stacktrace=1"}
    if fault:
        env["BERM_FAULT"] = fault
    if log is not None:
        env["BERM_FAULT_LOG"] = str(log)
    child = subprocess.Popen([berm_path(), "run", *arguments], env=env, cwd=folder,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, pass_fds=[log] if log is not None else [])
    try:
        err = child.communicate(timeout=60 * SLOWNESS)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        raise AssertionError(f"{fault}: berm did not end in 60 s") from None
    return child.returncode, err.decode(errors="replace"), folder


def count(t, arguments):
    """{role: calls} of a run in which nothing fails."""
    path = t.dir / "log"
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.set_inheritable(log, True)
    one_run(t, "count", arguments, log=log)
    os.close(log)
    calls = {}
    for line in path.read_text().splitlines():
        role, number, _ = line.split()
        calls[role] = max(calls.get(role, 0), int(number))
    return calls


def records(folder, err):
    """Every record that the run left: state folder, named report, and the fallback that it names."""
    fallback = [Path(path) for path in re.findall(r"^berm: report (/tmp/berm-report-\S+)", err, re.M)]
    places = [folder.glob("state/berm/runs/*.json"), (folder / "out").glob("*.json"), fallback]
    for place in places:
        for path in place:
            try:
                value = json.loads(path.read_text())
            except ValueError:
                yield path, None, ["not JSON"]
                continue
            report = value.get("report", value)
            yield path, report, faults_of(report)


def end_left(left):
    """They are children of ours that nobody else reaps: each pid is still its own."""
    for pid, _ in left:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def judge(t, fault, status, err, folder, need_record):
    """What is wrong with how this run ended, as a list of sentences."""
    wrong = []
    if status < 0 or status in (134, 139) or "Sanitizer" in err or "BUG" in err:
        wrong.append(f"crashed: {status}: {err[-1500:]}")
    left = children()
    if left:
        wrong.append(f"left behind: {left}")
        end_left(left)
    found = list(records(folder, err))
    for path, report, faults in found:
        if faults:
            wrong.append(f"{path.name} is not valid: {faults[:3]}")
    for path, _, _ in found:
        path.unlink()
    final = [report for _, report, faults in found if not faults]
    if need_record and not final:
        wrong.append(f"no valid record; exit {status}; {err[-500:]}")
    if any(report["outcome"] == "success" for report in final) and status != 0 and need_record:
        wrong.append(f"a record says success, berm's exit {status}: {err[-500:]}")
    return [f"{fault}: {what}" for what in wrong]


def sweep(t, arguments, modes):
    calls = count(t, arguments)
    wrong, runs = [], 0
    numbers = {role: range(1, last + 1) for role, last in calls.items()}
    if "--sandbox" in arguments:
        # All of its calls are made to fail by launcher.py, alone; here it is what berm makes of it.
        numbers["launcher"] = range(1, LAUNCHER_CALLS, 1 if LONG else 9)
    for role, each in numbers.items():
        for number in each:
            for error in ERRNOS:
                for mode in modes:
                    fault = f"{role}:{number}:{error}{mode}"
                    status, err, folder = one_run(t, f"r{runs}", arguments, fault)
                    wrong += judge(t, fault, status, err, folder, need_record=mode == "")
                    runs += 1
                    subprocess.run(["rm", "-rf", folder], check=True)
    print(f"# {runs} runs: {', '.join(f'{len(n)} calls as {role}' for role, n in numbers.items())}; "
          f"{len(wrong)} wrong")
    t.true("controller" in calls, "a build with the fault table")
    t.true(not wrong, "\n".join(wrong[:12]))


for name, arguments, _ in SCENARIOS:
    @case(f"each kernel call fails once: {name}", deadline_s=3600)
    def _(t, arguments=arguments):
        sweep(t, arguments, [""])

if LONG:
    for name, arguments, _ in SCENARIOS:
        @case(f"each kernel call and all after it fail: {name}", deadline_s=7200)
        def _(t, arguments=arguments):
            sweep(t, arguments, [":from"])

main()
