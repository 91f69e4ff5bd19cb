#!/usr/bin/python3
"""The fault table sees every kernel call of a run: held against strace -f of the same run.

In a build with the fault table each call writes its name to a log descriptor right before it is
made. So in the trace of any process of berm, every call must directly follow a log line of its own
name. What libc does by itself is listed below, with the reason; nothing else may be left over. A
process counts until it becomes the payload.
"""

import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from scenarios import SCENARIOS, prepare
from tap import berm_path, case, main

# Calls that are not made through os/: they cannot fail, or a failure ends the process by itself.
NOT_COUNTED = {
    "brk": "memory, by the allocator", "mmap": "memory, by the allocator",
    "munmap": "memory, by the allocator", "mremap": "memory, by the allocator",
    "madvise": "memory, by the allocator", "mprotect": "memory, by the allocator",
    "exit_group": "cannot fail", "exit": "cannot fail", "getpid": "cannot fail",
    "getppid": "cannot fail", "getuid": "cannot fail", "geteuid": "cannot fail",
    "getgid": "cannot fail", "getegid": "cannot fail", "umask": "cannot fail",
    "gettid": "cannot fail", "clock_gettime": "cannot fail: the clocks exist",
    "set_robust_list": "libc, in a forked child",
    "rt_sigreturn": "the end of a signal handler", "restart_syscall": "the kernel's own",
    "futex": "libc's locks",
}
# Two names of one call.
SAME = {"fstat": "newfstatat", "pread": "pread64", "clone": "clone3", "fork": "clone3",
        "vfork": "clone3", "pselect6": "poll", "ppoll": "poll", "epoll_pwait": "epoll_wait",
        "rename": "renameat", "renameat2": "renameat", "fcntl64": "fcntl", "faccessat":
        "faccessat2", "sendto": "sendto", "signalfd": "signalfd4", "timerfd_settime64":
        "timerfd_settime"}
LOG_FD = 9
# A file of a program's own may have that number too, where the log was closed.
LOG_LINE = re.compile(rf'{LOG_FD}, "\w+ \d+ (\w+)\\n"')


def canonical(name):
    return SAME.get(name, name)


def calls(text):
    """(pid, name, arguments) in the order in which each call began, successful execs marked."""
    for line in text.splitlines():
        match = re.match(r"(\d+)\s+(\w+)\((.*)$", line)
        if match:
            yield int(match[1]), match[2], match[3]
        elif re.match(r"\d+\s+<\.\.\. execve(at)? resumed.*= 0$", line):
            yield int(line.split()[0]), "executed", ""


def uncounted(text):
    """Calls without a log line of their own, and how many had one."""
    announced, left, counted, payload = {}, [], 0, set()
    for pid, name, arguments in calls(text):
        if pid in payload:
            continue
        if name in ("execve", "execveat") and re.search(r"= 0$", arguments) or name == "executed":
            if pid in announced:
                payload.add(pid)
            else:
                announced[pid] = None        # berm's own exec by strace
        elif name == "write" and (line := LOG_LINE.match(arguments)):
            announced[pid] = line[1]
        elif name in NOT_COUNTED or (name == "getrandom" and "GRND_NONBLOCK" in arguments):
            pass                             # the second: the allocator's, once
        elif canonical(name) == canonical(announced.get(pid) or ""):
            counted += 1
            announced[pid] = ""
        elif announced.get(pid) is not None:
            left.append(f"{name}({arguments[:90]}")
    return left, counted


def traced(t, arguments):
    t.dir.joinpath("out").mkdir(exist_ok=True)
    prepare(t.dir)
    log = os.open(t.dir / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, LOG_FD, inheritable=True)
    os.close(log)
    try:
        done = t.run("strace", "-f", "-qq", "-s", "80", "-o", "trace", berm_path(), "run", "--quiet",
                     *arguments, env={"BERM_FAULT_LOG": str(LOG_FD)}, pass_fds=[LOG_FD],
                     deadline_s=60)
    finally:
        os.close(LOG_FD)
    return done, (t.dir / "trace").read_text(errors="replace")


for name, arguments, status in SCENARIOS:
    @case(f"every kernel call is counted: {name}")
    def _(t, arguments=arguments, status=status):
        done, text = traced(t, arguments)
        t.equal(done.status, status, str(done))
        left, counted = uncounted(text)
        print(f"# {counted} calls counted, as strace saw them")
        t.true(counted > 60, f"only {counted} calls: was this a build with the fault table?")
        t.equal(left, [], "calls that the fault table does not know")


@case("the comparison itself finds a call that is not counted")
def _(t):
    text = ('7 execve("berm", ["berm"], 0x1) = 0\n7 openat(AT_FDCWD, "/lib", O_RDONLY) = 3\n'
            '7 write(9, "controller 1 openat\\n", 20) = 20\n7 openat(AT_FDCWD, "x", 0) = 3\n'
            '7 read(3, "", 9) = 0\n7 brk(NULL) = 0\n')
    left, counted = uncounted(text)
    t.equal(counted, 1, "counted")
    t.equal(left, ['read(3, "", 9) = 0'], "not counted")


main()
