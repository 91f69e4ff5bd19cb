"""A FUSE file system whose server never answers: who looks into it waits where no signal ends it (case T11).

Needs root and fuse.ko. A request that the server has read is waited for without regard to signals
(fs/fuse/dev.c: request_wait_answer). Frames: include/uapi/linux/fuse.h.
"""

import ctypes
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
IN_HEADER, OUT_HEADER = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
INIT, FORGET, INTERRUPT, BATCH_FORGET = 26, 2, 36, 42
NO_ANSWER = {FORGET, INTERRUPT, BATCH_FORGET}
ENOENT = 2
PARALLEL_DIROPS = 1 << 18  # else the second waits for the first, in the kernel
INIT_OUT = struct.pack("<IIIIHHII32x", 7, 31, 0, PARALLEL_DIROPS, 0, 0, 4096, 1)


class HungFuse:
    """Mounted on `folder` as long as the with block takes; then the kernel gives up all requests."""

    def __init__(self, folder):
        self.folder = os.fsencode(folder)

    def __enter__(self):
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"hung", self.folder, b"fuse", MS_NOSUID | MS_NODEV, options) != 0:
            raise OSError(ctypes.get_errno(), "cannot mount a fuse file system")
        opcode, unique, _ = self.request()
        assert opcode == INIT, opcode
        self.answer(unique, 0, INIT_OUT)
        return self

    def __exit__(self, *_):
        os.close(self.fd)
        LIBC.umount2(self.folder, MNT_DETACH)

    def request(self):
        """(opcode, unique, pid) of the next one."""
        _, opcode, unique, _, _, _, pid, _ = IN_HEADER.unpack_from(os.read(self.fd, 1 << 17))
        return opcode, unique, pid

    def answer(self, unique, error, data=b""):
        os.write(self.fd, OUT_HEADER.pack(OUT_HEADER.size + len(data), -error, unique) + data)

    def hang(self, is_prey):
        """The pid of the first process that is_prey(pid) picks; all others are told that nothing is there."""
        while True:
            opcode, unique, pid = self.request()
            if opcode in NO_ANSWER:
                continue
            if is_prey(pid):
                return pid
            self.answer(unique, ENOENT)
