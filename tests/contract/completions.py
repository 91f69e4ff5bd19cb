#!/usr/bin/python3
"""The completions and man pages that come from the option tables.

  completions.py FOLDER      where the build wrote them
"""

import os
import re
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import case, main  # noqa: E402

FOLDER = Path(sys.argv.pop(1)).resolve()
SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
BASH = r"""
compopt() { :; }  # belongs to a completion that a key started
source "$0"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_berm
wait $!  # bash itself does not wait for what it read with <(...)
printf '%s\n' "${COMPREPLY[@]}"
"""


def bash(t, *words):
    """What bash offers for the last word. It splits words at '=', so the caller does."""
    done = t.run("bash", "--norc", "--noprofile", "-c", BASH, FOLDER / "berm", "berm", *words,
                 env={"COMPLETED": "x"})
    t.equal(done.err, b"")
    return set(done.out.decode().split())


def fish(t, line):
    """What fish offers at the end of the line."""
    done = t.run("fish", "--no-config", "-c", f"source {FOLDER}/berm.fish; complete -C $argv",
                 line)
    t.equal(done.err, b"")
    return {offer.split("\t")[0] for offer in done.out.decode().splitlines()}


def needs(t, program):
    if not shutil.which(program):
        t.skip(f"{program} is not installed")


def record(t, *ids):
    t.damages_reports()  # the name alone counts
    folder = t.state / "berm/runs"
    folder.mkdir(parents=True)
    for name in ids:
        (folder / f"{name}.json").touch()


@case("bash completes commands, options and their values")
def _(t):
    t.equal(bash(t, "ru"), {"run"})
    t.true({"run", "show", "gc", "--version"} <= bash(t, ""), "all commands")
    t.equal(bash(t, "run", "--mem"), {"--memory", "--memory-mib", "--memory-high", "--memory-high-mib"})
    t.equal(bash(t, "run", "--memory", "2G", "--qui"), {"--quiet"})
    t.equal(bash(t, "run", "--exit-mode", ""), {"plain", "outcome", "bisect"})
    t.equal(bash(t, "run", "--exit-mode", "=", "b"), {"bisect"})
    t.equal(bash(t, "run", "--exit-mode", "="), {"plain", "outcome", "bisect"})
    t.equal(bash(t, "run", "--stdin", "inh"), {"inherit"})
    t.equal(bash(t, "run", "--env", "COMPLETE"), {"COMPLETED"})
    t.equal(bash(t, "run", "--timeout", ""), set())
    t.equal(bash(t, "gc", "--"), {"--state", "--dry-run", "--json", "--help"})
    t.equal(bash(t, "help", "val"), {"validate-report"})


@case("bash completes the last of a list")
def _(t):
    t.equal(bash(t, "run", "--require", "mana"), {"managed"})
    t.equal(bash(t, "run", "--require", "memory,sw"), {"memory,swap"})


@case("bash completes files and folders where they belong")
def _(t):
    (t.dir / "folder").mkdir()
    (t.dir / "file one").touch()
    t.true("folder" in bash(t, "run", "--cwd", ""), "a folder")
    t.true("file" not in bash(t, "run", "--cwd", ""), "no file")
    t.equal(bash(t, "run", "--report", "file"), {"file", "one"})
    t.equal(bash(t, "run", "--json", "=", "fol"), {"folder"})
    t.equal(bash(t, "validate-report", "--file", "fol"), {"folder"})


@case("bash completes ids of recorded runs")
def _(t):
    t.equal(bash(t, "show", "l"), {"last"})
    record(t, "k7f3aa", "k7f4bb")
    t.equal(bash(t, "show", "k7"), {"k7f3aa", "k7f4bb"})


@case("I5 bash: behind the command, options are the command's own")
def _(t):
    (t.dir / "--quick").touch()
    t.true("env" in bash(t, "run", "en"), "a command")
    t.true("env" in bash(t, "run", "--memory", "2G", "en"), "a command behind options")
    t.true("env" in bash(t, "run", "--json", "=", "out", "en"), "a command behind --json=out")
    t.true("env" in bash(t, "run", "--", "en"), "a command behind --")
    t.equal(bash(t, "run", "ls", "--qui"), {"--quick"})
    t.equal(bash(t, "run", "--", "ls", "--qui"), {"--quick"})


@case("bash takes the script in whole, with bash-completion's own helper too")
def _(t):
    t.equal(t.run("bash", "-n", FOLDER / "berm").status, 0)
    done = t.run("bash", "--norc", "-c", "_command_offset() { echo offset $1; }\n" + BASH,
                 FOLDER / "berm", "berm", "run", "--memory", "2G", "make", "al")
    t.contains(done.out, b"offset 4")


@case("zsh takes the script")
def _(t):
    needs(t, "zsh")
    done = t.run("zsh", "-n", FOLDER / "_berm")
    t.equal((done.status, done.err), (0, b""))


@case("fish completes commands, options and their values")
def _(t):
    needs(t, "fish")
    t.equal(fish(t, "berm ru"), {"run"})
    t.equal(fish(t, "berm run --mem"), {"--memory", "--memory-mib", "--memory-high", "--memory-high-mib"})
    t.equal(fish(t, "berm run --memory 2G --qui"), {"--quiet"})
    t.equal(fish(t, "berm run --exit-mode b"), {"bisect"})
    t.equal(fish(t, "berm run --stdin inh"), {"inherit"})
    t.equal(fish(t, "berm run --memory "), set())
    t.true("env" in fish(t, "berm run --memory 2G en"), "a command")
    t.true("env" in fish(t, "berm run -- en"), "a command behind --")
    t.equal(fish(t, "berm run -- ls --qui"), set())
    t.equal(fish(t, "berm gc --dr"), {"--dry-run"})
    record(t, "k7f3aa")
    t.equal(fish(t, "berm show k7"), {"k7f3aa"})


@case("every verb of berm help has a man page, which programs/generate/meson.build must name")
def _(t):
    pages = sorted(FOLDER.glob("*.1"))
    listed = t.run(FOLDER.parent / "berm/berm", "help").out.decode().split("Start with")[0]
    verbs = re.findall(r"^  ([a-z-]+)  ", listed, re.M)
    t.true(len(verbs) > 8, verbs)
    t.equal({page.name for page in pages},
            {"berm.1"} | {f"berm-{verb}.1" for verb in set(verbs) - {"help", "version"}})


@case("man pages say everything and please mandoc")
def _(t):
    needs(t, "mandoc")
    for page in sorted(FOLDER.glob("*.1")):
        text = page.read_text()
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"):
            t.contains(text, f".SH {section}\n")
        done = t.run("mandoc", "-T", "lint", "-W", "style", page)
        t.equal((done.status, done.out, done.err), (0, b"", b""), page.name)
    run = (FOLDER / "berm-run.1").read_text()
    for part in (".SH FILES", ".SH ENVIRONMENT", "\\fB\\-\\-memory\\-mib\\fR", "\\fB120\\fR"):
        t.contains(run, part)


@case("an install under a prefix puts everything into its place, without root")
def _(t):
    build = FOLDER.parent.parent
    t.equal(t.run("meson", "install", "-C", build, "--no-rebuild", "--destdir", t.dir / "root",
                  "--quiet", deadline_s=60).status, 0)
    found = {path.relative_to(t.dir / "root") for path in (t.dir / "root").rglob("*")
             if path.is_file()}
    schemas = [f"share/berm/schema/{path.name}" for path in SCHEMAS.glob("*.json")]
    t.true(len(schemas) >= 6, schemas)
    for place in (*schemas, "bin/berm", "share/man/man1/berm-run.1", "share/zsh/site-functions/_berm",
                  "share/bash-completion/completions/berm",
                  "share/fish/vendor_completions.d/berm.fish"):
        t.true(any(str(path).endswith(place) for path in found), f"{place} in {found}")
    berm = next(path for path in found if path.name == "berm" and path.parent.name == "bin")
    t.equal(t.run(t.dir / "root" / berm, "--version").status, 0)
    t.true(not any(path.name == "generate" for path in found), "no tool of the build")


PROGRAM = """
#include <berm-context.h>
#include <stdio.h>
int main(void)
{
    struct berm_context context;
    int verdict = berm_context_read(&context, sizeof context, 1000);
    printf("%d %d\\n", verdict, context.verdict);
    return 0;
}
"""


@case("CX-1 a program is built against what was installed, with either library")
def _(t):
    build = FOLDER.parent.parent
    needs(t, "pkg-config")
    needs(t, "cc")
    root = t.dir / "root"
    t.equal(t.run("meson", "install", "-C", build, "--no-rebuild", "--destdir", root, "--quiet",
                  deadline_s=60).status, 0)
    description = next(root.rglob("berm-context.pc"))
    (t.dir / "ask.c").write_text(PROGRAM)
    asked = t.run("pkg-config", "--cflags", "--libs", "berm-context",
                  env={"PATH": os.environ["PATH"], "PKG_CONFIG_PATH": str(description.parent),
                       "PKG_CONFIG_SYSROOT_DIR": str(root)})
    t.equal(asked.status, 0, str(asked))
    shared = next(root.rglob("libberm-context.so")).parent
    # A library with a sanitizer in it needs a program that has it as well.
    options = t.run("meson", "introspect", "--buildoptions", build).json()
    sanitizer = next(one["value"] for one in options if one["name"] == "b_sanitize")
    sanitized = [] if sanitizer == "none" else [f"-fsanitize={sanitizer}"]
    for name, words in (("static", ["-static-libgcc", next(root.rglob("libberm-context.a"))]),
                        ("shared", [])):
        flags = asked.out.decode().split()
        libraries = words or [flag for flag in flags if flag.startswith(("-l", "-L"))]
        headers = [flag for flag in flags if flag.startswith("-I")]
        built = t.run("cc", "-Wall", "-Wextra", "-Werror", *sanitized, *headers, "-o", name, "ask.c",
                      *libraries,
                      cwd=t.dir)
        t.equal(built.status, 0, str(built))
        # Neither variables nor an address of the caller's change what it says.
        done = t.run(t.dir / name, env={"LD_LIBRARY_PATH": str(shared), "BERM_CONTEXT": "inside"})
        t.true(done.out in (b"0 0\n", b"2 2\n"), str(done))


main()
