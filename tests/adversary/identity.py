#!/usr/bin/python3
"""What runs is what was looked at: files that are swapped meanwhile, variables and arguments that
steer, secrets that must not be written down.
"""

import ctypes
import hashlib
import os
import shutil
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from duel import ROUNDS, record_of, report_of  # noqa: E402
from tap import case, main  # noqa: E402

RENAME_EXCHANGE = 2
AT_FDCWD = -100


class Swapper:
    """A process that exchanges two names as fast as it can, until it is told to stop."""

    def __init__(self, one, other):
        libc = ctypes.CDLL(None, use_errno=True)
        names = os.fsencode(one), os.fsencode(other)
        self.pid = os.fork()
        if self.pid == 0:
            signal.alarm(120)
            while libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0:
                pass
            os._exit(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        gone, status = os.waitpid(self.pid, os.WNOHANG)
        if gone == 0:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        else:
            raise AssertionError(f"the swapper ended by itself: {status}")


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def two_programs(folder):
    """{digest: exit status}: what ran is known by its answer."""
    for name in ("true", "false"):
        shutil.copy(f"/usr/bin/{name}", folder / name)
    return {digest(folder / "true"): 0, digest(folder / "false"): 1}


def swap_race(t, one, other, command, name, bound):
    """Swapped all the time while it runs: what the record calls by its digest is what answered. A
    runner that looks at a path and then executes the path is wrong at least once."""
    answers = two_programs(t.dir)
    naive_wrong, refused, wrong = 0, 0, []
    naive_rounds, rounds = 0, 0
    with Swapper(one, other):
        while naive_rounds < ROUNDS or (naive_wrong == 0 and naive_rounds < 1000):
            naive_rounds += 1
            seen = digest(name)
            naive_wrong += t.run(*command).status != answers.get(seen)
        while rounds < ROUNDS or (refused == rounds and rounds < 1000):
            rounds += 1
            done = t.berm("run", "--report", "r.json", "--", *command)
            record = record_of(t)
            if done.status in (121, 126, 127):
                t.equal(record["report"]["outcome"], "preflight_refused", str(done))
                refused += 1
                continue
            seen = bound(record)["identity"]["sha256"]
            if done.status != answers.get(seen):
                wrong.append((done.status, seen))
    print(f"# {name.name}: look, then execute the path: {naive_wrong} of {naive_rounds} wrong; "
          f"berm: {len(wrong)} of {rounds} wrong, {refused} refused")
    t.true(naive_wrong > 0, "undefended, the race can be won")
    t.equal(wrong, [])
    t.true(refused < rounds, "some were run")


@case("I1 an executable that is swapped all the time: what was hashed is what ran", deadline_s=180)
def _(t):
    two_programs(t.dir)
    target, other = t.dir / "target", t.dir / "other"
    shutil.copy(t.dir / "true", target)
    shutil.copy(t.dir / "false", other)
    swap_race(t, target, other, ["./target"], target, lambda record: record["executable"])


@case("I2 a folder on the way that is swapped all the time", deadline_s=180)
def _(t):
    for name in ("true", "false"):
        (t.dir / f"in-{name}").mkdir()
        shutil.copy(f"/usr/bin/{name}", t.dir / f"in-{name}/prog")
        (t.dir / f"link-{name}").symlink_to(f"in-{name}")
    swap_race(t, t.dir / "link-true", t.dir / "link-false", ["link-true/prog"],
              t.dir / "link-true/prog", lambda record: record["executable"])


@case("I3 the interpreter of a script that is swapped all the time", deadline_s=180)
def _(t):
    target, other = t.dir / "interpreter", t.dir / "other"
    shutil.copy("/usr/bin/true", target)
    shutil.copy("/usr/bin/false", other)
    (t.dir / "script").write_text(f"#!{target}\n")
    (t.dir / "script").chmod(0o755)
    swap_race(t, target, other, ["./script"], target,
              lambda record: record["executable"]["interpreters"][0])


POISON = {
    "LD_PRELOAD": "/tmp/x.so", "LD_AUDIT": "/tmp/x.so", "LD_LIBRARY_PATH": "/tmp",
    "GCONV_PATH": "/tmp",
    "BASH_ENV": "/tmp/x", "ENV": "/tmp/x", "BASH_FUNC_ls%%": "() { echo gotcha; }",
    "BASH_FUNC_true()": "() { echo gotcha; }", "SHELLOPTS": "xtrace", "BASHOPTS": "extdebug",
    "PS4": "$(touch gotcha)", "IFS": "x", "CDPATH": "/tmp", "GLOBIGNORE": "*",
    "PYTHONPATH": "/tmp", "PYTHONHOME": "/tmp", "PYTHONSTARTUP": "/tmp/x", "PYTHONINSPECT": "1",
    "PERL5LIB": "/tmp", "PERL5OPT": "-Mx", "PERL5DB": "x", "PERLLIB": "/tmp",
    "RUBYOPT": "-rx", "RUBYLIB": "/tmp", "NODE_OPTIONS": "--require /tmp/x", "NODE_PATH": "/tmp",
    "NODE_V8_COVERAGE": "/tmp/coverage", "GIT_SSH_COMMAND": "x", "GIT_EXEC_PATH": "/tmp",
    "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "x",
    "GIT_EXTERNAL_DIFF": "x", "GIT_DIR": "/tmp", "JAVA_TOOL_OPTIONS": "-javaagent:x",
    "_JAVA_OPTIONS": "-javaagent:x", "JDK_JAVA_OPTIONS": "x", "DOTNET_STARTUP_HOOKS": "/tmp/x.dll",
    "LUA_INIT": "@x", "MALLOC_CHECK_": "3", "GLIBC_TUNABLES": "x", "LOCPATH": "/tmp",
    "NLSPATH": "/tmp", "HOSTALIASES": "/tmp/x", "RES_OPTIONS": "x", "RUSTC_WRAPPER": "/tmp/x",
    "AWS_SECRET_ACCESS_KEY": "SECRETVALUE", "GITHUB_TOKEN": "SECRETVALUE",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/tmp/x", "SSH_AUTH_SOCK": "/tmp/x",
}
# What a person who says --env-all gets: no code in programs that did not ask for it, and no more
# than the person has. Shells take no IFS from outside; RUSTC_WRAPPER is to cargo as CC to make.
ASKED_FOR = {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK",
             "IFS", "RUSTC_WRAPPER"}


def names_in(out):
    return {line.partition("=")[0] for line in out.decode(errors="replace").split("\n")}


@case("I4 variables that load code into other programs: none by default, none with --env-all, told")
def _(t):
    without = names_in(t.run("/usr/bin/env", env=POISON).out)
    missing = POISON.keys() - without - {"LD_PRELOAD"}
    t.true(not missing, f"a careless parent hands all on: {missing}")
    plain = names_in(t.berm("run", "--", "/usr/bin/env", env=POISON).out)
    t.equal(POISON.keys() & plain, set(), "by default nothing of them")
    passed = names_in(t.berm("run", "--env-all", "--", "/usr/bin/env", env=POISON).out)
    print(f"# {len(without)} variables handed on carelessly, {len(plain)} by berm, {len(passed)} "
          f"with --env-all; of the poisonous ones that passes: {sorted(POISON.keys() & passed)}")
    t.equal(POISON.keys() & passed, ASKED_FOR)
    held = {one["name"] for one in record_of(t)["environment"]["held_back"]}
    t.true(POISON.keys() - passed <= held, POISON.keys() - passed - held)


@case("I4 --env with such a name is refused by that name; with a good one it is passed")
def _(t):
    for name in ("LD_PRELOAD", "NODE_OPTIONS", "BASH_FUNC_ls%%", "PYTHONSTARTUP", "GIT_EXEC_PATH"):
        done = t.berm("run", "--env", f"{name}=x", "--", "touch", "ran")
        t.true(done.status in (121, 125) and not (t.dir / "ran").exists(), str(done))
        t.contains(done.err.decode(), name)
    done = t.berm("run", "--env", "ANSWER=42", "--env", "INHERITED", "--env", "EMPTY=", "--",
                  "/usr/bin/env", env={"INHERITED": "yes", "OTHER": "no"})
    lines = done.out.decode().splitlines()
    for line in ("ANSWER=42", "INHERITED=yes", "EMPTY="):
        t.contains(lines, line)
    t.true("OTHER=no" not in lines, lines)


@case("I5 arguments come through as they are, whatever they look like")
def _(t):
    words = ["--", "-x", "--timeout", "1ms", "", " ", "a b", "*", "$(touch ran)", "\n", "'\"\\",
             "--report=stolen.json", "\x01\x7f\u00e9", "--help"]
    shown = "".join(f"[{word}]" for word in words).encode()
    done = t.berm("run", "--quiet", "--", "printf", "[%s]", *words)
    t.equal((done.out, done.status), (shown, 0), str(done))
    done = t.berm("run", "--quiet", "printf", "[%s]", *words)
    t.equal((done.out, done.status), (shown, 0), "without -- as well")
    t.equal(record_of(t)["report"]["command"], ["printf", "[%s]", *words])
    t.true(not (t.dir / "stolen.json").exists() and not (t.dir / "ran").exists(), "nothing ran")
    done = t.berm("run", "--", "--version")
    t.true(done.status in (126, 127), str(done))  # 126: PATH has a folder that is closed to us
    t.contains(done.err, b"'--version'")


@case("I5 arguments of a megabyte, and of bytes that JSON must escape")
def _(t):
    for word, count in (("x" * 100_000, 15), ("\x01" * 100_000, 15), ("x\n", 100_000)):
        done = t.berm("run", "--report", "r.json", "--", "sh", "-c", "echo $#", "sh",
                      *[word] * count)
        t.equal((done.status, done.out), (0, b"%d\n" % count), str(done)[-500:])
        t.equal(report_of(t.dir / "r.json")["outcome"], "success")
        t.true((t.dir / "r.json").stat().st_size < 1 << 20, "a record has a bound")


@case("R9 a first line that ends in CR LF: 126, said why, nothing left")
def _(t):
    script = t.dir / "script"
    script.write_bytes(b"#!/bin/sh\r\necho hi\r\n")
    script.chmod(0o755)
    done = t.berm("run", "--", "./script")
    t.equal((done.status, done.out), (126, b""), str(done))
    t.contains(done.err, b"CR")
    t.equal({p.name for p in t.dir.iterdir()}, {"home", "state", "script"}, "no temporary file")


@case("I8 a set-id program is refused")
def _(t):
    shutil.copy("/usr/bin/true", t.dir / "true")
    for mode in (0o4755, 0o2755):
        (t.dir / "true").chmod(mode)
        done = t.berm("run", "--", "./true")
        t.equal(done.status, 121, str(done))
        t.contains(done.err, b"set-id")


@case("R42 every limit of a run stands in its record with where it came from")
def _(t):
    t.berm("run", "--tasks", "77", "--", "true")
    limits = {one["name"]: one for one in record_of(t)["limits"]}
    t.equal(set(limits),
            {"memory", "memory high", "tasks", "timeout", "output", "grace", "sample", "host reserve",
             "set-up"})
    t.true(all(one["source"] for one in limits.values()), limits)
    t.equal((limits["tasks"]["value"], limits["tasks"]["source"]), (77, "--tasks"))
    t.equal(limits["timeout"]["value"], None, "no hidden limit of time")


# Twenty ways in which a secret stands in a command line or an output.
FORMS = (
    ["--token", "{}"], ["--token={}"], ["TOKEN={}"], ["--password", "{}"], ["--password={}"],
    ["password: {}"], ["--api-key", "{}"], ["--apikey={}"], ["API_KEY={}"],
    ["--access-token", "{}"], ["access_token={}"], ["--secret={}"], ["CLIENT_SECRET={}"],
    ["--auth", "{}"],
    ["Authorization: Bearer {}"], ["Authorization: Basic {}"], ["Bearer {}"],
    ["https://user:{}@host/path"], ["postgres://u:{}@db:5432/x"], ["-H", "Authorization: token {}"],
)


@case("R59 twenty forms of a secret, as arguments and as output: none is written down anywhere")
def _(t):
    leaked = []
    for number, form in enumerate(FORMS):
        secret = f"hunter2SECRET{number:02}x"
        words = [word.format(secret) for word in form]
        script = t.dir / "payload"
        script.write_text('#!/bin/sh\nprintf "%s\\n" "$*"\nprintf "%s\\n" "$*" >&2\n')
        script.chmod(0o755)
        done = t.berm("run", "--report", "r.json", "--json=j.json", "--label", f"form {number}",
                      "--", "./payload", *words)
        t.contains(done.out.decode(), secret)  # what the payload says is passed on as it is
        report_of(t.dir / "r.json")
        explained = t.berm("run", "--explain", "--json", "--", "./payload", *words)
        shown = t.berm("show", "last")
        own = b"\n".join(line for line in done.err.splitlines() if line.startswith(b"berm: "))
        places = {"report": (t.dir / "r.json").read_bytes(),
                  "json": (t.dir / "j.json").read_bytes(),
                  "summary": own, "show": shown.out, "explain": explained.out}
        for path in (t.state / "berm/runs").iterdir():
            places[path.name] = path.read_bytes()
        leaked += [(form, name) for name, text in places.items() if secret.encode() in text]
    print(f"# {len(FORMS)} forms, {len({str(form) for form, _ in leaked})} leaked")
    t.equal(leaked, [])


main()
