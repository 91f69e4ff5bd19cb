#!/usr/bin/python3
"""What is the source of a repository: the same that git says, without git. And what is refused."""

import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from sources import DRIVE, git, is_source, put, repository, take  # noqa: E402
from tap import case, main  # noqa: E402

LONG = os.environ.get("BERM_TEST_LONG") == "1"
DENY = os.environ["DENY_SYSCALL"]
NO_PROCESSES = (DENY, "clone", "clone3", "--")


def as_git_says(folder):
    listed = git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    folder = os.fsencode(folder)
    return {name for name in listed.split(b"\0") if name and is_source(os.path.join(folder, name))}


NAMES = [b"a", b"b", b"ab", b"foo", b"foo.o", b"build", b"B", b".x", b"a b", b"#c", b"!d", b"\xff\xfe",
         b"n\nl", b"[x]", b"x*", b"back\\slash", b"a-b", b"Z9", b"\x01", b"tail ", b"e\xcc\x81"]
PIECES = [b"*", b"**", b"?", b"/", b"/", b"**/", b"/**", b"/**/", b"a", b"b", b"foo", b".o", b"build", b"[ab]", b"[!a]",
          b"[^b]", b"[a-z]", b"[]a]", b"[[:alpha:]]", b"[[:digit:]_]", b"[", b"]", b"\\", b"\\*", b"\\#", b"!",
          b"x", b"-", b"[a-", b"[[:nope:]]", b"\xff", b" ", b"\\ ", b"[\\]]", b"[--0]", b"[[:]", b"Z9"]


def pattern(chance):
    if chance.random() < 0.4:
        line = chance.choice(NAMES).replace(b"\n", b"") + chance.choice([b"", b"/", b"/*", b"/**"])
    else:
        line = b"".join(chance.choice(PIECES) for _ in range(chance.randint(1, 6)))
    return chance.choice([b"", b"", b"", b"!", b"/"]) + line + chance.choice([b"", b"", b"/", b" ", b"\r"])


def random_tree(chance, folder):
    places = [folder]
    for _ in range(chance.randint(3, 25)):
        path = os.path.join(chance.choice(places), chance.choice(NAMES))
        if os.path.lexists(path):
            continue
        kind = chance.random()
        if kind < 0.4 and path.count(b"/") < folder.count(b"/") + 4:
            os.mkdir(path)
            places.append(path)
        elif kind < 0.5:
            os.symlink(b"nowhere", path)
        else:
            with open(path, "wb") as out:
                out.write(b"x")
    for place in chance.sample(places, min(len(places), chance.randint(1, 3))):
        with open(os.path.join(place, b".gitignore"), "wb") as out:
            out.write(chance.choice([b"", b"\xef\xbb\xbf"]) + b"\n".join(
                pattern(chance) for _ in range(chance.randint(1, 6))) + chance.choice([b"", b"\n"]))


@case("FZ-2 the source of any repository is what git lists, and its copy is that", deadline_s=600)
def _(t):
    first = int(os.environ.get("SOURCE_SEED", "0"))
    for seed in range(first, first + (500 if LONG else 12)):
        chance = random.Random(seed)
        folder = repository(t, f"r{seed}")
        random_tree(chance, os.fsencode(folder))
        (folder / ".git/info").mkdir(exist_ok=True)
        if chance.random() < 0.4:
            (folder / ".git/info/exclude").write_bytes(pattern(chance) + b"\n")
        everything = [name for name in git(folder, "ls-files", "-z", "--others").split(b"\0") if name]
        for name in chance.sample(everything, min(len(everything), chance.randint(0, 4))):
            git(os.fsencode(folder), "--literal-pathspecs", "add", "-f", "--", name)
        if chance.random() < 0.3:
            git(folder, "update-index", "--index-version", "4")
        taken = take(t, folder)
        t.true(taken.tree, f"seed {seed}: {taken.lines}")
        t.equal(taken.files(), as_git_says(folder), f"seed {seed}")


@case("FZ-2 nothing that a repository configures is executed, and no process is made at all")
def _(t):
    folder, marker = repository(t), t.dir / "marker"
    evil = t.dir / "evil"
    put(t.dir, "evil", f"#!/bin/sh\necho $0 >>{marker}\ncat\n", 0o755)
    for name in ("a.txt", "b.bin", "sub/c"):
        put(folder, name)
    git(folder, "add", "a.txt")
    put(folder, ".gitattributes", "* filter=evil diff=evil text\n*.bin filter=lfs diff=lfs merge=lfs\n")
    put(folder, ".gitmodules", f'[submodule "x"]\n path = x\n url = ext::{evil}\n update = !{evil}\n')
    included = t.dir / "included"
    included.write_text(f"[core]\n fsmonitor = {evil}\n")
    with open(folder / ".git/config", "a") as config:
        config.write(f"""[core]
 fsmonitor = {evil}
 hooksPath = {t.dir}
 pager = {evil}
 sshCommand = {evil}
 worktree = /etc
 excludesFile = {evil}
[filter "evil"]
 clean = {evil}
 smudge = {evil}
 process = {evil}
 required = true
[diff "evil"]
 textconv = {evil}
 command = {evil}
[includeIf "gitdir:/"]
 path = {included}
[url "ext::{evil} "]
 insteadOf = https://
[alias]
 ls-files = !{evil}
[extensions]
 partialClone = origin
[remote "origin"]
 url = ext::{evil}
 promisor = true
""")
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit"):
        put(folder / ".git/hooks", hook, evil.read_text(), 0o755)
    marker.unlink(missing_ok=True)
    taken = take(t, folder, before=NO_PROCESSES)
    t.true(taken.tree, taken.lines)
    t.equal(taken.files(), {b"a.txt", b"b.bin", b"sub/c", b".gitattributes", b".gitmodules"})
    t.true(not marker.exists(), "something of the repository was executed")


@case("FZ-2 a pointer of LFS is a file like any other")
def _(t):
    folder = repository(t)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 12345\n"
    put(folder, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    put(folder, "model.bin", pointer)
    taken = take(t, folder)
    t.equal((Path(taken.tree) / "model.bin").read_text(), pointer)


@case("FZ-2 a linked worktree has its own index and the shared excludes")
def _(t):
    folder = repository(t)
    put(folder, "a")
    put(folder, "ignored.o", "main\n")
    git(folder, "add", "-f", "a", "ignored.o")
    git(folder, "commit", "-qm", "x")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("*.o\n*.tmp\n")
    linked = t.dir / "linked"
    git(folder, "worktree", "add", "-q", linked)
    git(linked, "rm", "-q", "--cached", "ignored.o")
    put(linked, "x.tmp")
    taken = take(t, linked)
    t.equal(taken.files(), {b"a"})
    t.equal(take(t, folder).files(), {b"a", b"ignored.o"})


@case("FZ-2 submodules are read by their own rules, also where they are ignored")
def _(t):
    other = repository(t, "other")
    put(other, "lib.c")
    put(other, ".gitignore", "*.o\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "x")
    folder = repository(t)
    git(folder, "submodule", "--quiet", "add", other, "sub/mod")
    put(folder, ".gitignore", "sub/\n*.c\n")
    put(folder, "sub/untracked")
    put(folder / "sub/mod", "x.o")
    put(folder / "sub/mod", "new.c")
    t.true((folder / "sub/mod/.git").is_file(), "the submodule's .git is no file")
    taken = take(t, folder)
    t.equal(taken.files(), {b".gitignore", b".gitmodules", b"sub/mod/.gitignore", b"sub/mod/lib.c",
                            b"sub/mod/new.c"})


@case("FZ-2 indexes of other makes: SHA-256, version 4, sparse; a split one is refused with the way out")
def _(t):
    for name, options in (("sha256", ["--object-format=sha256"]), ("plain", [])):
        folder = repository(t, name, *options)
        put(folder, "kept.o")
        put(folder, "other.o")
        put(folder, "d/e/f")
        put(folder, ".gitignore", "*.o\n")
        git(folder, "add", "-f", "kept.o", "d", ".gitignore")
        expected = {b"kept.o", b"d/e/f", b".gitignore"}
        t.equal(take(t, folder).files(), expected, name)
        git(folder, "update-index", "--index-version", "4")
        t.equal(take(t, folder).files(), expected, name)
        git(folder, "commit", "-qm", "x")
        git(folder, "sparse-checkout", "set", "--cone", "--sparse-index")
        t.true(not (folder / "d").exists(), "the checkout is not sparse")
        t.equal(take(t, folder).files(), expected - {b"d/e/f"}, name)
    git(folder, "sparse-checkout", "disable")
    git(folder, "update-index", "--split-index")
    taken = take(t, folder)
    t.true(taken.error and "git update-index --no-split-index" in taken.error, taken.lines)
    git(folder, "update-index", "--no-split-index")
    t.equal(take(t, folder).files(), expected)


@case("I2 links that lead out are refused, in words and by way of other links")
def _(t):
    folder = repository(t)
    put(folder, "d/f")
    (folder / "inside").symlink_to("d/f")
    (folder / "nowhere").symlink_to("missing")
    t.true(take(t, folder).tree, "links within are refused")
    (folder / "up").symlink_to(".")
    for target in ("/etc/passwd", "../out", "d/../../out", "up/up/../out", str(folder / "d/f")):
        (folder / "bad").symlink_to(target)
        taken = take(t, folder)
        t.true(taken.error and "'bad' leads out" in taken.error, f"{target}: {taken.lines}")
        (folder / "bad").unlink()


@case("I2 a directory that is swapped for a link meanwhile: what lies behind the link is never copied")
def _(t):
    folder, outside = repository(t), t.dir / "outside"
    for i in range(30):
        put(folder, f"d/f{i}", "inside\n")
        put(outside, f"f{i}", "secret\n")
    (t.dir / "link").symlink_to(outside)
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(folder / "d"), os.fsencode(t.dir / "link")
    swapper = os.fork()
    if swapper == 0:
        signal.alarm(120)
        while libc.renameat2(-100, names[0], -100, names[1], 2) == 0:
            pass
        os._exit(1)
    try:
        for n in range(200 if LONG else 25):
            taken = take(t, folder, state=f"state{n % 2}")
            for path in Path(taken.tree).rglob("f*") if taken.tree else ():
                t.true(path.is_symlink() or path.read_text() == "inside\n", f"{path} is of outside")
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)


@case("FZ-1 FZ-3 a held snapshot tells an edit of the checkout and one of the copy")
def _(t):
    folder = repository(t)
    put(folder, "f", "one\n")
    holder = t.start(DRIVE, "--hold", t.dir / "berm-state", folder, stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE)
    lines = [holder.stdout.readline().decode() for _ in range(3)]
    tree = Path(lines[2].split(" ", 1)[1].strip())

    def ask(what):
        holder.stdin.write(what + b"\n")
        holder.stdin.flush()
        return holder.stdout.readline().decode()

    t.equal(ask(b"source") + ask(b"tree"), "ok\nok\n")
    put(folder, "f", "two\n")
    t.contains(ask(b"source"), "'f'")
    t.equal(ask(b"tree"), "ok\n")
    second = take(t, folder)
    t.true(second.tree != str(tree), "two runs share a copy")
    t.equal((Path(second.tree) / "f").read_text() + (tree / "f").read_text(), "two\none\n")
    os.chmod(tree / "f", 0o644)
    t.contains(ask(b"tree"), "'f' of the snapshot")
    holder.stdin.close()
    t.equal(holder.wait(), 0)
    third = take(t, folder)
    t.equal((third.tree, third.copied), (str(tree), 1))


@case("FZ-2 the same work has the same identity in another clone, and other bytes or words have another")
def _(t):
    def identity(name, *words):
        done = t.run(DRIVE, t.dir / "berm-state", t.dir / name, *words)
        t.equal(done.status, 0, done)
        return done.out.decode().splitlines()[-1]

    put(t.dir, "data", "outside\n")
    for name in ("one", "two"):
        folder = repository(t, name)
        put(folder, ".gitignore", "tool\n")
        put(folder, "tool", "#!/bin/sh\n", 0o755)
        put(folder, "input", "x\n")
    words = ["../data", "input", "--flag"]
    first = identity("one", "/bin/sh", *words)
    t.true(first.startswith("identity "), first)
    t.equal(identity("two", "/bin/sh", *words), first)
    others = {identity("one", "/bin/sh", *words, "more"), identity("one", "/bin/cat", *words),
              identity("one", t.dir / "one/tool", *words)}
    put(t.dir, "data", "OUTSIDE\n")
    others.add(identity("one", "/bin/sh", *words))
    put(t.dir, "data", "outside\n")
    put(t.dir / "one", "input", "y\n")
    others.add(identity("one", "/bin/sh", *words))
    t.equal(len(others | {first}), 6)
    put(t.dir / "one", "input", "x\n")
    t.equal(identity("one", "/bin/sh", *words), first)


@case("SI-3 more files than the limit: the refusal names it, and a higher limit takes them", deadline_s=300)
def _(t):
    count = 50_000 if LONG else 17_000
    base = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else t.dir
    place = base / f"berm-source-{os.getpid()}"
    place.mkdir()
    try:
        t.dir, kept = place, t.dir
        folder = repository(t)
        for i in range(count):
            if i % 500 == 0:
                (folder / f"d{i}").mkdir()
            (folder / f"d{i - i % 500}" / f"f{i}").touch()
        taken = take(t, folder)
        t.contains(taken.error or "", "more than 16384 files")
        taken = take(t, folder, "--entries", str(2 * count))
        t.equal(taken.copied, count, taken.lines)
        t.equal(take(t, folder, "--entries", str(2 * count)).copied, 0)
    finally:
        t.dir = kept
        shutil.rmtree(place)


main()
