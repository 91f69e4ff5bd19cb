"""A terminal of its own for a command, and the person in front of it.

    with Terminal(t, berm_path(), "run", "--", "make") as terminal:
        terminal.expect(b"ready")
        terminal.send(b"\\x03")          # Ctrl-C, by the terminal's own rules
        status = terminal.wait()         # as of waitpid
        terminal.seen                    # every byte that was shown
        terminal.screen()                # the lines as they stand after \\r and erasing
"""

import fcntl
import os
import re
import select
import termios
import time

from tap import SLOWNESS, Failed


class Terminal:
    def __init__(self, t, *argv, env=None, columns=100, preexec=None):
        self.master, slave = os.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        self.slave, self.seen = slave, b""

        def become_its_session():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if preexec:
                preexec()

        self.before = termios.tcgetattr(slave)
        self.child = t.start(*argv, env={"TERM": "xterm"} | (env or {}), stdin=slave, stdout=slave,
                             stderr=slave, preexec_fn=become_its_session)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.master)
        os.close(self.slave)

    def settings(self):
        return termios.tcgetattr(self.slave)

    def send(self, keys):
        os.write(self.master, keys)

    def _hear(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if ready:
            self.seen += os.read(self.master, 65536)
        return bool(ready)

    def expect(self, wanted, deadline_s=20, after=0):
        """Wait until it was shown, at or behind offset `after`; the offset behind it."""
        end = time.monotonic() + deadline_s * SLOWNESS
        while wanted not in self.seen[after:]:
            if not self._hear(max(0, end - time.monotonic())):
                raise Failed(f"{wanted!r} was not shown: {self.seen!r}")
        return self.seen.index(wanted, after) + len(wanted)

    def wait(self, deadline_s=20):
        """Read on until the command has ended, then what it left in the terminal."""
        end = time.monotonic() + deadline_s * SLOWNESS
        while self.child.poll() is None:
            self._hear(0.01)
            if time.monotonic() > end:
                raise Failed(f"did not end in {deadline_s} s: {self.seen!r}")
        while self._hear(0):
            pass
        return self.child.returncode

    def screen(self):
        """Lines as a person would read them, of a terminal that is wide enough."""
        lines = []
        for line in self.seen.decode(errors="replace").split("\n"):
            cells, at = [], 0
            for part in re.findall(r"\x1b\[K|\x1b\[[0-9;]*m|\r|[^\r\x1b]|\x1b", line):
                if part == "\r":
                    at = 0
                elif part == "\x1b[K":
                    del cells[at:]
                elif not part.startswith("\x1b["):
                    cells[at:at + 1] = [part]
                    at += 1
            lines.append("".join(cells).rstrip())
        return lines
