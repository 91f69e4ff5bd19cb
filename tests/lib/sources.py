"""Repositories for tests, and snapshots of them by tests/lib/snapshot-drive (SNAPSHOT_DRIVE)."""

import os
import subprocess
from pathlib import Path

DRIVE = os.environ["SNAPSHOT_DRIVE"]
GIT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C",
       "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(folder, *words, **more):
    return subprocess.run(["git", "-C", folder, "-c", "protocol.file.allow=always", *words],
                          env=GIT, check=True, capture_output=True, **more).stdout


def repository(t, name="work", *options):
    folder = t.dir / name
    folder.mkdir()
    git(folder, "init", "-q", "--template=", *options)
    return folder


def put(folder, name, content="x\n", mode=0o644):
    path = Path(folder) / os.fsdecode(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)


class Taken:
    def __init__(self, done):
        self.lines = done.stdout.decode(errors="replace").splitlines()
        self.error = next((line for line in self.lines if line.startswith("error ")), None)
        words = dict(line.split(" ", 1) for line in self.lines)
        self.digest, self.tree = words.get("snapshot"), words.get("tree")
        if self.tree:
            self.entries, self.bytes, self.read, self.copied, self.removed = map(
                int, words["figures"].split())

    def files(self):
        tree = os.fsencode(self.tree)
        return {os.path.relpath(os.path.join(folder, name), tree)
                for folder, below, names in os.walk(tree)
                for name in [*names, *(n for n in below if os.path.islink(os.path.join(folder, n)))]}


def take(t, folder, *options, before=(), state="berm-state"):
    """A snapshot taken by a process of its own; `before` are words in front of its command."""
    # Where no process can be made the sanitizer's look for leaks cannot make its own.
    options_of_asan = {"ASAN_OPTIONS": "detect_leaks=0"} if before else {}
    done = subprocess.run([*before, DRIVE, *options, t.dir / state, folder], capture_output=True,
                          env=os.environ | options_of_asan)
    if done.returncode not in (0, 1) or done.stderr:
        raise AssertionError(f"{done}")
    return Taken(done)


def is_source(path):
    return os.path.islink(path) or os.path.isfile(path)
