#!/usr/bin/python3
"""Packages of a release: refused where the host is not qualified for this very build, else always the same bytes."""

import hashlib
import json
import os
import shutil
import sys
import tarfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from tap import berm_path, case, main  # noqa: E402
from tree import TOP  # noqa: E402

MESON = """project('berm', 'c', version: '9.8.7')
subdir('programs/berm')
"""
OPTIONS = "option('faults', type: 'boolean', value: false)\noption('fuzz', type: 'boolean', value: false)\n"
INSTALL = """configure_file(input: 'berm.in', output: 'berm', copy: true, install: true, install_dir: 'bin',
  install_mode: 'rwxr-xr-x')
"""
BERM = "#!/bin/sh\n[ \"$*\" = 'envelope --json' ] && cat \"$ENVELOPE\"\n"


def project(t):
    """A small project that builds a program which says of itself what $ENVELOPE holds."""
    tree = t.dir / "tree"
    for name, text in {"meson.build": MESON, "meson_options.txt": OPTIONS, "programs/berm/meson.build": INSTALL, "programs/berm/berm.in": BERM,
                       ".gitignore": "/build/\n"}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    (tree / "tools").mkdir()
    shutil.copy(TOP / "tools/dist", tree / "tools/dist")
    (tree / "programs/berm/berm.in").chmod(0o755)
    t.env |= {"ENVELOPE": str(t.dir / "envelope"), "GIT_CONFIG_GLOBAL": "/dev/null",
              **{f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
    for command in (["git", "init", "-q"], ["git", "add", "."], ["git", "commit", "-qm", "all"],
                    ["meson", "setup", "--prefix", "/usr", "build"]):
        done = t.run(*command, cwd=tree)
        t.equal(done.status, 0, done)
    return tree


def attest(t, tree, **changes):
    program = (tree / "build/programs/berm/berm").read_bytes()
    attestation = {"valid": True, "qualified_for_production_tiers": True, "reason": None,
                   "value": {"host": {"build": hashlib.sha256(program).hexdigest()}}} | changes
    (t.dir / "envelope").write_text(json.dumps({"attestation": attestation}))


def refused(t, done, status, *words):
    t.equal((done.status, done.out), (status, b""), done)
    for word in words:
        t.contains(done.err.decode(), word)


@case("PT-3 no package is made where this berm is not qualified, and what would help is said")
def _(t):
    build = t.dir / "build"
    (build / "programs").mkdir(parents=True)
    (build / "programs/berm").symlink_to(Path(berm_path()).parent)
    done = t.run(TOP / "tools/dist", build, t.dir / "out")
    refused(t, done, 3, "not qualified for this build: ", f"{build}/programs/berm/berm self-test")
    t.equal((t.dir / "out").exists(), False)


@case("PT-3 an attestation that is void, not for tiers, of another program, or no answer at all: no package")
def _(t):
    tree = project(t)
    for changes, word in (({"valid": False, "reason": "the boot differs"}, "the boot differs"),
                          ({"qualified_for_production_tiers": False, "reason": "no"}, "not qualified"),
                          ({"value": {"host": {"build": "0" * 64}}}, "of another program"),
                          ({"value": None}, "says nothing of an attestation"),
                          ({"valid": "true", "reason": "a word"}, "a word")):
        attest(t, tree, **changes)
        refused(t, t.run("tools/dist", cwd=tree), 3, word, "self-test")
    for text in ("", "{}", "[]"):
        (t.dir / "envelope").write_text(text)
        refused(t, t.run("tools/dist", cwd=tree), 3, "says nothing of an attestation")
    attest(t, tree)
    (tree / "more").write_text("not committed")
    refused(t, t.run("tools/dist", cwd=tree), 1, "differs from its commit")
    t.equal((tree / "build/dist").exists(), False)


@case("PT-3 of a build that is not whole, or is for tests alone: no package, and what would help is said")
def _(t):
    tree = project(t)
    attest(t, tree)
    for option, word in (("faults=true", "faults=True"), ("fuzz=true", "fuzz=True"),
                         ("b_sanitize=address", "b_sanitize=")):
        t.equal(t.run("meson", "configure", "build", f"-D{option}", cwd=tree).status, 0)
        refused(t, t.run("tools/dist", cwd=tree), 1, f"built with {word}", "tools/build")
        back = option.partition("=")[0]
        t.equal(t.run("meson", "configure", "build", f"-D{back}={'none' if back == 'b_sanitize' else 'false'}",
                      cwd=tree).status, 0)
    refused(t, t.run("tools/dist", cwd=tree), 1, "older than its source", "ninja -C")
    t.equal(t.run("ninja", "-C", "build", cwd=tree).status, 0)
    t.equal(t.run("tools/dist", cwd=tree).status, 0)


@case("PT-3 on a qualified host: source, installed files and their digests, the same bytes each time")
def _(t):
    tree = project(t)
    attest(t, tree)
    told = []
    for out, epoch in (("one", "1000000000"), ("two", "1000000000"), ("three", None)):
        done = t.run("tools/dist", "build", t.dir / out, cwd=tree,
                     **({"env": {"SOURCE_DATE_EPOCH": epoch}} if epoch else {}))
        t.equal(done.status, 0, done)
        told.append(done.out)
    t.true(told[0] == told[1] != told[2], told)
    system = f"{os.uname().sysname.lower()}-{os.uname().machine}"
    names = [f"berm-9.8.7-{system}.tar.gz", "berm-9.8.7.tar.gz"]
    t.equal(sorted(os.listdir(t.dir / "one")), ["SHA256SUMS", *names])
    t.equal(t.run("sha256sum", "--quiet", "--check", "SHA256SUMS", cwd=t.dir / "one").status, 0)
    t.equal((t.dir / "one/SHA256SUMS").read_bytes(), told[0])
    for name, wanted in zip(names, ("usr/bin/berm", "programs/berm/berm.in")):
        with tarfile.open(t.dir / "one" / name) as archive:
            members = archive.getmembers()
        t.true(f"{name.removesuffix('.tar.gz')}/{wanted}" in [one.name for one in members], members)
        t.equal({(one.uid, one.gid, one.uname, one.gname, one.mtime) for one in members},
                {(0, 0, "", "", 1000000000)})
        t.equal([one.name for one in members], sorted(one.name for one in members))


main()
