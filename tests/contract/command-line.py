#!/usr/bin/python3
"""The command line as its users meet it: words, exit codes, terminals, descriptors."""

import json
import os
import re
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import SLOWNESS, Failed, berm_path, case, main  # noqa: E402
from terminal import Terminal  # noqa: E402

PREFIX = b"berm: "


def own_lines(done):
    """berm's words; a line of standard error that is not its own fails the case."""
    lines = done.err.splitlines()
    for line in lines:
        if not line.startswith(PREFIX):
            raise Failed(f"a line of somebody else: {line!r}")
    return lines


@case("the payload's output passes through byte for byte, both streams apart (O4)")
def _(t):
    data = os.urandom(1 << 20) + b"\x1b[31m\x00\xff no newline"
    (t.dir / "data").write_bytes(data)
    done = t.berm("run", "--quiet", "sh", "-c", "cat data; cat data >&2")
    t.equal((done.status, done.out == data, done.err == data), (0, True, True))


@case("exit codes: the command's own, and berm's where it is not the command that speaks")
def _(t):
    (t.dir / "text").write_text("no program")
    (t.dir / "text").chmod(0o755)
    table = [
        (0, ["true"]), (7, ["sh", "-c", "exit 7"]), (255, ["sh", "-c", "exit 255"]),
        (124, ["--timeout", "200ms", "sleep", "60"]),
        (120, ["--output-max", "10", "sh", "-c", "echo 12345678901234567890; sleep 60"]),
        (121, ["--require", "managed", "true"]), (121, ["--cwd", "missing", "true"]),
        (125, ["--memory", "x", "true"]), (125, []), (126, ["./text"]), (127, ["nosuch-program"]),
        (128 + signal.SIGSEGV, ["sh", "-c", "kill -SEGV $$"]),
    ]
    for expected, arguments in table:
        done = t.berm("run", *arguments)
        t.equal(done.status, expected, done)
        t.true(expected == 0 or own_lines(done), "it says why")


@case("--exit-mode maps outcomes, and bisect leaves the verdict alone")
def _(t):
    late = ["--timeout", "200ms", "sleep", "60"]
    flood = ["--output-max", "10", "sh", "-c", "echo 12345678901234567890; sleep 60"]
    table = [
        ("outcome", 0, ["true"]), ("outcome", 4, ["sh", "-c", "exit 7"]), ("outcome", 8, late),
        ("outcome", 4, flood), ("bisect", 125, flood),
        ("outcome", 9, ["--require", "managed", "true"]), ("outcome", 2, ["--memory", "x", "true"]),
        ("bisect", 0, ["true"]), ("bisect", 7, ["sh", "-c", "exit 7"]), ("bisect", 125, late),
        ("bisect", 125, ["nosuch-program"]), ("bisect", 125, ["sh", "-c", "kill -SEGV $$"]),
    ]
    for mode, expected, arguments in table:
        done = t.berm("run", "--exit-mode", mode, *arguments)
        t.equal(done.status, expected, f"{mode} {done}")
    t.contains(done.err, b"; exit 125")


@case("help goes to standard output, fits 80 columns and names only what is there")
def _(t):
    pages = [["help"], ["help", "-a"], ["--help"], ["-h"], ["run", "--help"], ["help", "run"],
             ["show", "--help"], ["help", "gc"], ["help", "help"]]
    for page in pages:
        done = t.berm(*page)
        t.equal((done.status, done.err), (0, b""), page)
        t.true(max(map(len, done.out.decode().splitlines())) <= 80, page)
    t.equal(t.berm("run", "--help").out, t.berm("help", "run").out)
    whole = t.berm("help", "-a").out.decode()
    for verb in re.findall(r"^  (\S+)", t.berm("help").out.decode(), re.M):
        t.contains(whole, f"usage: berm {verb}")


@case("a wrong command line is one line on standard error, and nothing is run")
def _(t):
    table = [
        (2, []), (2, ["runn"]), (2, ["show", "--all"]), (2, ["gc"]), (2, ["help", "nosuch"]),
        (125, ["run", "--memroy", "2G", "touch", "ran"]), (125, ["run", "--label", "--", "touch", "ran"]),
        (125, ["run", "--json=a", "--report=a", "touch", "ran"]),
        (125, ["run", "--require", "luck", "touch", "ran"]),
        (125, ["run", "--json=missing/file", "touch", "ran"]),
        (125, ["run", "--label", "x" * 1000, "touch", "ran"]),
    ]
    for expected, arguments in table:
        done = t.berm(*arguments)
        t.equal((done.status, done.out, len(own_lines(done))), (expected, b"", 1), done)
    t.true(not (t.dir / "ran").exists(), "nothing was run")
    t.contains(t.berm("run", "--memroy", "2G", "true").err, b"did you mean --memory?")


@case("--json prints one object and keeps the output to itself")
def _(t):
    done = t.berm("run", "--json", "sh", "-c", "echo out; echo err >&2; exit 3")
    record = done.json()
    t.equal((done.status, record["schema"]), (3, "berm.run/v1"))
    t.equal(record["report"]["output"]["stdout_tail"], "out\n")
    t.equal(record["report"]["output"]["stderr_tail"], "err\n")
    t.true(record["timing"]["payload_wall_ns"] > 0, "payload wall time")
    t.true(b"err\n" not in [line + b"\n" for line in own_lines(done)], "no output of the command")


@case("--json=FILE lets the output flow; the file is whole, private and the same record")
def _(t):
    (t.dir / "old").write_text("something else")
    (t.dir / "out.json").symlink_to("old")
    done = t.berm("run", "--json=out.json", "echo", "hi")
    t.equal(done.out, b"hi\n")
    path = t.dir / "out.json"
    t.true(not path.is_symlink() and path.stat().st_mode & 0o7777 == 0o600, "a private file")
    t.equal((t.dir / "old").read_text(), "something else")
    record = json.loads(path.read_text())
    t.equal(t.berm("show", "--json", record["run_id"]).json(), record)
    through = t.run("bash", "-c", f"'{berm_path()}' run --json=/dev/fd/3 echo hi 3>&1 >&2 | cat")
    t.equal(json.loads(through.out)["report"]["outcome"], "success")


@case("--quiet says nothing of a success, and all of a failure")
def _(t):
    done = t.berm("run", "--quiet", "echo", "hi", stdin=b"piped")
    t.equal((done.out, done.err), (b"hi\n", b""))
    t.contains(t.berm("run", "--quiet", "sh", "-c", "exit 7").err, b"berm: exit 7 command failed")


@case("show prints what the run printed, by id, by its beginning, last, and from a file")
def _(t):
    done = t.berm("run", "--report", "r.json", "--label", "first", "sh", "-c", "echo x; exit 4")
    run = re.search(rb"^berm: run    (\S+)", done.err, re.M).group(1).decode()
    for word in (run, run[:4], "last", str(t.state / f"berm/runs/{run}.json")):
        shown = t.berm("show", word)
        t.equal((shown.status, shown.out), (0, done.err), word)
    t.equal(t.berm("show").out, done.err)
    bare = t.berm("show", "./r.json")
    t.contains(bare.out, b"berm: exit 4 command failed")
    t.contains(bare.out, b"  r.json\n" if b"  r.json\n" in bare.out else b"./r.json\n")
    t.equal(t.berm("show", "zzzzzz").status, 1)
    (t.dir / "broken.json").write_text('{"schema": "berm.run/v1"}')
    t.equal(t.berm("show", "./broken.json").status, 5)


@case("R42 --explain names every limit with its source and runs nothing")
def _(t):
    done = t.berm("run", "--explain", "--memory", "64M", "--timeout", "30s", "touch", "ran")
    t.equal(done.status, 0)
    text = done.out.decode()
    for line in (r"^  memory +64\.0 MiB +--memory$", r"^  timeout +30s +--timeout$",
                 r"^  tasks +\d+ +default$", r"^  output +none +default$", r"^it would run$"):
        t.true(re.search(line, text, re.M), f"{line} in {text}")
    explained = t.berm("run", "--explain", "--json", "touch", "ran").json()
    t.equal((explained["would_run"], explained["command"]), (True, ["touch", "ran"]))
    t.equal(t.berm("run", "--explain", "nosuch-program").status, 121)
    t.true(not (t.dir / "ran").exists(), "nothing was run")


@case("R47 a pipe on standard input is not passed on unless asked for, and that is said")
def _(t):
    done = t.berm("run", "wc", "-c", stdin=b"12345")
    t.equal(done.out, b"0\n")
    t.equal(done.err.count(b"berm: stdin  is a pipe and not passed on"), 1)
    passed = t.berm("run", "--stdin", "inherit", "wc", "-c", stdin=b"12345")
    t.equal((passed.out, passed.err.count(b"berm: stdin")), (b"5\n", 0))
    t.equal(t.berm("run", "--stdin", "null", "wc", "-c", stdin=b"1").err.count(b"berm: stdin"), 0)
    t.equal(t.berm("run", "true").err.count(b"berm: stdin"), 0)  # /dev/null
    (t.dir / "in").write_text("abc")
    t.equal(t.berm("run", "--quiet", "--stdin", "in", "cat").out, b"abc")


@case("IF-2 a person raises limits by flag, as far as the host's reserve allows")
def _(t):
    plain = t.berm("run", "--explain", "--json", "true").json()
    limits = {limit["name"]: limit["value"] for limit in plain["limits"]}
    more = t.berm("run", "--quiet", "--tasks", str(limits["tasks"] * 4), "--timeout", "1d", "true")
    t.equal(more.status, 0, more)
    beyond = t.berm("run", "--memory", str(limits["memory"] + (2 << 30)), "true")
    t.equal(beyond.status, 121, beyond)
    t.contains(beyond.err, b"[preflight.memory]")


@case("gc --state says what it would remove, and removes it")
def _(t):
    for _ in range(3):
        t.equal(t.berm("run", "--quiet", "true").status, 0)
    dry = t.berm("gc", "--state", "--dry-run", "--json").json()
    t.equal((dry["dry_run"], dry["removed_runs"], dry["kept_runs"]), (True, 0, 3))
    done = t.berm("gc", "--state")
    t.equal(done.status, 0)
    t.contains(done.out, b"removed 0 records (0 B); 3 stay (")


@case("validate-report answers yes, no, or that it cannot say")
def _(t):
    t.berm("run", "--report", "r.json", "--json=record.json", "true")
    for name in ("r.json", "record.json"):
        done = t.berm("validate-report", "--file", name)
        t.equal((done.status, done.out), (0, f"{name}: valid\n".encode()))
    report = json.loads((t.dir / "r.json").read_text())
    report["output"]["total_bytes"] += 1
    (t.dir / "wrong.json").write_text(json.dumps(report))
    wrong = t.berm("validate-report", "--file", "wrong.json", "--json")
    t.equal((wrong.status, wrong.json()["valid"], wrong.json()["file"]), (1, False, "wrong.json"))
    t.true("total_bytes" in str(wrong.json()["errors"]), wrong)
    missing = t.berm("validate-report", "--file", "missing.json")
    t.equal((missing.status, missing.out), (1, b""))


@case("the version is a line, or an object")
def _(t):
    line = t.berm("--version")
    t.true(re.fullmatch(rb"berm \d+\.\d+\.\d+\n", line.out), line)
    version = t.berm("--version", "--json").json()
    t.equal(f"berm {version['version']}\n".encode(), line.out)


@case("D12 closed descriptors stay closed to the payload and never become a record")
def _(t):
    script = f"""
        '{berm_path()}' run --report r.json ls -l /proc/self/fd {{}}
        exit $?
    """
    for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = t.run("bash", "-c", script.format(closing))
        t.equal(done.status is not None and done.status in (0, 2), True, f"{closing} {done}")
        report = json.loads((t.dir / "r.json").read_text())
        t.true(report["outcome"] in ("success", "command_failed"), report["outcome"])
        listed = re.findall(r"(\d+) -> (\S+)", report["output"]["stdout_tail"])
        numbers = {int(number) for number, _ in listed}
        t.true(numbers <= {0, 1, 2, 3}, listed)  # 3 is what ls reads
        t.true(all("r.json" not in target and "berm/runs" not in target for _, target in listed),
               listed)


@case("a result that cannot be written is a failure")
def _(t):
    with open("/dev/full", "wb") as full:
        for arguments in (["help"], ["--version"], ["run", "--json", "true"]):
            child = t.start_berm(*arguments, stdout=full, stderr=-1)
            _, err = child.communicate(timeout=20 * SLOWNESS)
            t.true(child.returncode in (1, 125), child.returncode)
            t.contains(err, b"berm: write to standard output: No space left on device")


@case("colours are for terminals, and not for those who mind")
def _(t):
    coloured = Terminal(t, berm_path(), "run", "true")
    t.contains(coloured.finish(), b"berm: \x1b[1;32mok\x1b[0m     exit 0")
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        plain = Terminal(t, berm_path(), "run", "true", env=env)
        t.true(b"\x1b[1" not in plain.finish(), plain.seen)
    t.true(b"\x1b" not in t.berm("run", "true").err, "a pipe")


@case("the live line shows, keeps out of the way of output, and leaves the terminal clean")
def _(t):
    os.mkfifo(t.dir / "gate")
    script = "echo first; read a <gate; printf 'half a '; sleep 1; echo line; read a <gate; echo end"
    terminal = Terminal(t, berm_path(), "run", "--timeout", "1h", "sh", "-c", script)
    drawn = rb"\r\x1b\[Kberm: [\d.]+ s/1h  memory [^\r]*  tasks \d+/\d+  output \d"
    terminal.wait_for(rb"first\r\n" + drawn)
    (t.dir / "gate").write_text("\n")
    terminal.wait_for(rb"line\r\n" + drawn)
    (t.dir / "gate").write_text("\n")
    terminal.finish()
    t.equal(os.waitstatus_to_exitcode(terminal.status), 0)
    # A second long nothing is drawn into half a line, and the line is gone before bytes come.
    t.contains(terminal.seen, b"\r\x1b[Khalf a line\r\n")
    t.contains(terminal.seen, b"\r\x1b[Kend\r\n")
    shown = terminal.shown()
    t.true(shown.startswith(b"first\nhalf a line\nend\nberm: "), shown)
    t.true(b"\r" not in shown and b"  tasks " not in shown, shown)


@case("a line half written on either stream is never erased by the live line")
def _(t):
    for stream in (1, 2):
        os.mkfifo(t.dir / f"gate{stream}")
        terminal = Terminal(t, berm_path(), "run", "sh", "-c",
                            f"read line <gate{stream}; printf 'half a line' >&{stream}; sleep 1; "
                            f"echo ' whole' >&{stream}")
        terminal.wait_for(rb"\r\x1b\[Kberm: ")  # drawn once, so another drawing comes in that second
        (t.dir / f"gate{stream}").write_text("go\n")
        terminal.finish()
        t.contains(terminal.seen, b"half a line whole\r\n")


@case("no live line with --quiet, on a dumb terminal, or when it is not ours to draw on")
def _(t):
    for arguments, env in ((["--quiet"], {}), ([], {"TERM": "dumb"}), (["--stdin", "inherit"], {})):
        terminal = Terminal(t, berm_path(), "run", *arguments, "sleep", "1.6", env=env)
        t.true(b"\x1b[K" not in terminal.finish(), terminal.seen)
    # A background job leaves the terminal to the shell.
    shell = Terminal(t, "bash", "--norc", "-c", f"set -m; '{berm_path()}' run sleep 1.6 & wait")
    t.true(b"\x1b[K" not in shell.finish(), shell.seen)


@case("R19 Ctrl-C on a terminal ends the run, and the shell's loop around it")
def _(t):
    loop = f"for i in 1 2 3; do '{berm_path()}' run sh -c 'echo started; sleep 60'; done; echo went-on"
    shell = Terminal(t, "bash", "--norc", "-c", loop)
    shell.wait_for(rb"started")
    shell.press(b"\x03")
    seen = shell.finish()
    t.contains(seen, b"INTERRUPTED")
    t.contains(seen, b"by SIGINT")
    t.equal((seen.count(b"started"), b"went-on" in seen), (1, False), seen)
    t.equal(os.WTERMSIG(shell.status) if os.WIFSIGNALED(shell.status) else 130, 2 if
            os.WIFSIGNALED(shell.status) else os.WEXITSTATUS(shell.status))


@case("after an interrupting signal berm dies of it, when everything is published")
def _(t):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = t.start_berm("run", "--json=out.json", "sh", "-c", "echo started; sleep 60",
                             stdout=-1, stderr=-1)
        t.equal(child.stdout.readline(), b"started\n")
        child.send_signal(number)
        _, err = child.communicate(timeout=20 * SLOWNESS)
        t.equal(child.returncode, -number, err)
        record = json.loads((t.dir / "out.json").read_text())
        t.equal((record["report"]["outcome"], record["exit"]["code"], record["exit"]["signal"]),
                ("interrupted", 128 + number, number.name))
        t.contains(err, f"by {number.name} after".encode())


main()
