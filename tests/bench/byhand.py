"""The sandbox of a run of berm made by hand: bubblewrap with the same namespaces and mounts."""

import subprocess

BWRAP = ["/usr/bin/bwrap", "--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-ipc",
         "--unshare-uts", "--unshare-net", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL",
         "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
OF_THESE = ("/", "/proc", "/dev", "/run")  # made by those options, or brought along by them
HIDDEN = "/run/berm/private"  # where the launcher worked: nobody who makes one by hand has that


def mounts(argv, env):
    return subprocess.run([*argv, "/bin/cat", "/proc/self/mountinfo"], env=env, check=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
                          ).stdout.splitlines()


def by_hand(argv, env):
    """bubblewrap's arguments for what a sandbox of berm has: its mounts, as it sees them itself."""
    seen = mounts(argv, env)
    words = list(BWRAP) + ["--tmpfs", "/run"]
    for line in seen:
        fields, _, rest = line.partition(" - ")
        root, path, options = fields.split()[3:6]
        kind = rest.split()[0]
        own = path.startswith(("/dev/", "/proc/")) and kind in ("devtmpfs", "devpts")
        if path in OF_THESE or path.startswith(HIDDEN) or own or words[-1] == path:
            continue
        if kind == "proc":
            words += ["--ro-bind", path, path]
        elif kind != "tmpfs":
            if options.startswith("rw"):
                words += ["--bind", path, path]
        elif root == "/void":
            words += ["--ro-bind", "/dev/null", path]
        elif path not in words:
            words += ["--tmpfs", path]
    print(f"mounts of the sandbox: {len(seen)}, by hand: {len(mounts(words, env))}")
    return words
