"""A pseudo terminal for a command, and the person in front of it.

    terminal = Terminal(t, berm_path(), "run", "make")
    terminal.wait_for(rb"ready (\\d+)")     # a pattern; its match is returned
    terminal.press(b"\\x03")               # a key, by the terminal's own rules
    terminal.finish()                     # all that was written; terminal.status as of waitpid
    terminal.code()                       # the exit status, -n for signal n
    terminal.shown()                      # what is left to read of it
    terminal.settings()                   # termios, now; terminal.before: as the command found them

The command is the foreground of a session of its own.
"""

import errno
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from tap import SLOWNESS, Failed


class Terminal:
    def __init__(self, t, *argv, columns=80, env=None):
        self.seen = b""
        self.status = None
        environment = t.env | {"TERM": "xterm"} | (env or {})
        begin, go = os.pipe()
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                os.read(begin, 1)
                os.chdir(t.dir)
                os.execvpe(argv[0], [str(a) for a in argv], environment)
            finally:
                os._exit(99)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before = self.settings()
        os.write(go, b".")  # the command begins in a terminal that is as it is said to be
        os.close(begin)
        os.close(go)

    def settings(self):
        return termios.tcgetattr(self.master)  # of a pty, both ends show the same

    def read(self, deadline):
        if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
            raise Failed(f"the terminal stayed silent after {self.seen!r}")
        try:
            got = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            got = b""
        self.seen += got
        return got

    def wait_for(self, pattern, deadline_s=20):
        end = time.monotonic() + deadline_s * SLOWNESS
        while not (found := re.search(pattern, self.seen)):
            if not self.read(end):
                raise Failed(f"{pattern!r} never came; seen: {self.seen!r}")
        return found

    def press(self, keys):
        os.write(self.master, keys)

    def finish(self, deadline_s=20):
        """All that was written, once everybody who could write has gone."""
        end = time.monotonic() + deadline_s * SLOWNESS
        while self.read(end):
            pass
        _, self.status = os.waitpid(self.pid, 0)
        os.close(self.master)
        return self.seen

    def code(self):
        return os.waitstatus_to_exitcode(self.status)

    def shown(self):
        """What is left to read of it: \\r and erase-to-end-of-line are obeyed, nothing else is."""
        lines = []
        for line in self.seen.replace(b"\r\n", b"\n").split(b"\n"):
            text = b""
            for part in re.split(rb"(\r\x1b\[K)", line):
                text = b"" if part == b"\r\x1b[K" else text + part
            lines.append(text)
        return b"\n".join(lines)
