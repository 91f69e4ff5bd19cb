#!/usr/bin/python3
"""berm recover --runs: what a death of both, berm and its watchdog, left is healed from the manifest; what is
something else by now is left alone.
"""

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "lib"), str(HERE)]
from place import CLEAN, KILL_AT, LEFT, PROVISIONAL, Drive, Leaf, NamedScope, Place, record  # noqa: E402
from tap import berm_path, case, children, main  # noqa: E402

MAY_HAVE_RUN = record(says="may have run")
BOOT_ID_AT, MACHINE_ID_AT, SPACE_AT, PROCESSES_AT, SUM_AT, SUMMED_FROM = 56, 96, 136, 144, 16, 24
# After these: two processes of 16 bytes; then the manifest's own entry, two slots, four directories, the
# lock, each of two identities of 24 bytes, a path and a name.
OTHER_BOOT = b"00000000-0000-4000-8000-000000000000"
ENTRY = 24 + 24 + 4096 + 256
LEAF_AT = PROCESSES_AT + 32 + 8 * ENTRY
GATE_AT = LEAF_AT + 48


def recover(t, expected=0):
    done = t.berm("recover", "--runs", "--json")
    t.equal(done.status, expected, str(done))
    return done.json()


def dead_run(t, place, *options, orders=("arm",)):
    """A run whose controller and watchdog were killed at once; its manifest."""
    drive = Drive(t, *place.options(*options))
    for order in orders:
        t.true(drive.tell(order)[0] != "failed", order)
    drive.kill(signal.SIGSTOP)  # so that it notices nothing
    os.kill(drive.watchdog, signal.SIGKILL)
    drive.watchdog_ends()
    drive.kill()
    t.wait_until(lambda: not children(), "both are gone")
    (name,) = place.manifests()
    return place.state / name


def change(path, at, new):
    """Bytes of a manifest, and its sum over them."""
    whole = bytearray(path.read_bytes())
    whole[at:at + len(new)] = new
    total = 0xcbf29ce484222325
    for byte in whole[SUMMED_FROM:]:
        total = (total ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    whole[SUM_AT:SUM_AT + 8] = struct.pack("<Q", total)
    path.write_bytes(whole)


def ticks_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def machine_id(t):
    """As it stands in a manifest; a machine without one knows nothing of its earlier boots."""
    path = Path("/etc/machine-id")
    if not path.exists() or len(path.read_text().strip()) != 32:
        t.skip("no /etc/machine-id here")
    return path.read_text().strip().encode()


@case("S3 both die: processes, leaf, directories and report are as if the watchdog had lived")
def _(t):
    place, leaf = Place(t), Leaf(t)
    dead_run(t, place, *leaf.options())
    t.equal((place.said(), len(os.listdir(t.dir / "made"))), ({PROVISIONAL}, 1))
    seen = recover(t)
    t.equal((seen["healed"], seen["left"], seen["active"]), (1, 0, 0), seen)
    t.equal(seen["runs"], [{"run_id": "run001", "state": "healed", "what": "its leaf was still there"}])
    t.true(leaf.killed.is_set(), "the leaf was killed")
    place.nothing_left()
    t.equal(place.said(), {CLEAN})
    t.equal(recover(t)["runs"], [], "once is enough")


@case("S5 after a reboot nothing of that boot is touched but directories and reports")
def _(t):
    place, leaf = Place(t), Leaf(t)
    manifest = dead_run(t, place, *leaf.options())
    decoy = t.start("sleep", "1000")
    change(manifest, BOOT_ID_AT, OTHER_BOOT)
    change(manifest, MACHINE_ID_AT, machine_id(t))
    # Its numbers mean nothing any more, even where they fit.
    change(manifest, PROCESSES_AT, struct.pack("<qQ", decoy.pid, ticks_of(decoy.pid)))
    change(manifest, GATE_AT, struct.pack("<qQ", decoy.pid, ticks_of(decoy.pid)))
    seen = recover(t)
    t.equal((seen["healed"], seen["runs"][0]["what"]), (1, "of a boot that ended"))
    t.equal((leaf.killed.is_set(), leaf.folder.exists(), decoy.poll()), (False, True, None))
    decoy.kill()
    decoy.wait()
    (leaf.folder / "cgroup.kill").unlink()
    place.nothing_left()
    t.equal(place.said(), {CLEAN})


@case("WD-5 a run that lives on another machine, or in another PID namespace, is not touched")
def _(t):
    place, leaf = Place(t), Leaf(t)
    manifest = dead_run(t, place, *leaf.options())
    whole = manifest.read_bytes()
    for changes in ({BOOT_ID_AT: OTHER_BOOT, MACHINE_ID_AT: b"0" * 32}, {BOOT_ID_AT: OTHER_BOOT, MACHINE_ID_AT: b"\0"},
                    {SPACE_AT: struct.pack("<Q", 7)}):
        for at, new in changes.items():
            change(manifest, at, new)
        seen = recover(t)
        t.equal((seen["elsewhere"], seen["healed"], seen["left"], seen["runs"][0]["state"]), (1, 0, 0, "elsewhere"), seen)
        t.equal((leaf.killed.is_set(), leaf.folder.exists(), place.said(), len(os.listdir(t.dir / "made"))),
                (False, True, {PROVISIONAL}, 1))
        manifest.write_bytes(whole)
    t.equal(recover(t)["healed"], 1)
    place.nothing_left()


@case("T19 a manifest that others may write is not obeyed")
def _(t):
    place, leaf = Place(t), Leaf(t)
    manifest = dead_run(t, place, *leaf.options())
    manifest.chmod(0o666)
    seen = recover(t, expected=1)
    t.contains(seen["runs"][0]["what"], "can be written by others (mode 0666)")
    t.equal((leaf.killed.is_set(), place.said(), len(os.listdir(t.dir / "made"))), (False, {PROVISIONAL}, 1))
    manifest.chmod(0o600)
    t.equal(recover(t)["healed"], 1)
    place.nothing_left()


@case("T19 a process that has the number of one that died is not signalled, and is not taken for it")
def _(t):
    place = Place(t)
    leaf = Leaf(t)
    manifest = dead_run(t, place, *leaf.options())
    decoy = t.start("sleep", "1000")
    for at in (PROCESSES_AT, PROCESSES_AT + 16, GATE_AT):
        change(manifest, at, struct.pack("<qQ", decoy.pid, ticks_of(decoy.pid) - 1))
    change(manifest, GATE_AT + 16, struct.pack("<Q", 4))
    t.equal(recover(t)["healed"], 1)
    t.equal(decoy.poll(), None, "the decoy lives")
    decoy.kill()
    decoy.wait()
    place.nothing_left()


@case("a run that lives is active: nothing of it is touched, nor when only its watchdog does")
def _(t):
    place = Place(t)
    drive = Drive(t, *place.options())
    seen = recover(t)
    t.equal((seen["active"], seen["healed"], place.said()), (1, 0, {PROVISIONAL}), seen)
    os.kill(drive.watchdog, signal.SIGSTOP)
    drive.kill()
    waiting = t.start_berm("recover", "--runs", "--json", stdout=subprocess.PIPE)
    t.wait_until(lambda: "poll" in Path(f"/proc/{waiting.pid}/wchan").read_text()
                 or Path(f"/proc/{waiting.pid}/syscall").read_text().startswith("7 "), "it waits")
    t.equal(place.said(), {PROVISIONAL})
    os.kill(drive.watchdog, signal.SIGCONT)
    out = waiting.communicate()[0]
    t.equal(json.loads(out)["left"], 0, out)
    drive.watchdog_ends()
    place.nothing_left()
    t.equal(place.said(), {CLEAN})


@case("what is another by now is left alone: directory, leaf, another run's report, a parent that moved")
def _(t):
    place, leaf = Place(t), Leaf(t)
    dead_run(t, place, *leaf.options())
    made = t.dir / "made"
    (name,) = os.listdir(made)
    (made / name).rename(t.dir / "elsewhere")
    (made / name).mkdir()
    (made / name / "precious").touch()
    leaf.folder.rename(t.dir / "old-leaf")
    leaf.folder.mkdir()
    (leaf.scope / "cgroup.events").unlink()
    other = record(run_id="run002")
    place.slots[0].write_text(other)
    (t.dir / "slots").rename(t.dir / "slots-before")
    (t.dir / "slots").mkdir()
    (t.dir / "slots/record.json").write_text(PROVISIONAL)
    t.equal(recover(t)["healed"], 1)
    t.true((made / name / "precious").exists() and (t.dir / "elsewhere").is_dir(), "directories")
    t.true(leaf.folder.exists() and not leaf.killed.is_set(), "the leaf")
    t.equal((place.slots[1].read_text(), (t.dir / "slots-before/record.json").read_text(),
             (t.dir / "slots-before/report.json").read_text()), (PROVISIONAL, PROVISIONAL, other))
    t.equal(place.manifests(), [])
    (t.dir / "old-leaf/cgroup.kill").unlink()


@case("S3 both die between a scope's name and its arming: it is ended by its name, which nobody can guess")
def _(t):
    for made in (False, True):
        place, scope = Place(t), NamedScope(t)
        dead_run(t, place, *scope.options(), orders=())
        if made:
            scope.make()
        seen = recover(t)
        t.equal((seen["healed"], seen["runs"][0]["what"]), (1, "it had no leaf yet"), seen)
        t.equal((scope.killed.is_set(), scope.folder.exists()), (made, False), made)
        place.nothing_left()
        t.equal(place.said(), {CLEAN})


@case("S5 a scope that was named in another boot is not looked for")
def _(t):
    place, scope = Place(t), NamedScope(t)
    manifest = dead_run(t, place, *scope.options(), orders=())
    change(manifest, BOOT_ID_AT, OTHER_BOOT)
    change(manifest, MACHINE_ID_AT, machine_id(t))
    scope.make()
    t.equal((recover(t)["healed"], scope.killed.is_set(), scope.folder.exists()), (1, False, True))
    scope.remove()
    place.nothing_left()


@case("T19 a scope of the name that is another one is left alone, and the run is healed")
def _(t):
    place, leaf = Place(t), Leaf(t)
    dead_run(t, place, *leaf.options())
    leaf.scope.rename(t.dir / "old-scope")
    leaf.folder.mkdir(parents=True)
    t.equal(recover(t)["healed"], 1)
    t.true(leaf.folder.exists() and (t.dir / "old-scope/leaf").exists() and not leaf.killed.is_set(), "both scopes")
    place.nothing_left()
    t.equal(place.said(), {CLEAN})


@case("WD-5 the manifest keeps what was told last before it was armed, a living watchdog says the last")
def _(t):
    for both_die in (True, False):
        place, leaf = Place(t), Leaf(t)
        (t.dir / "may-have-run").write_text(MAY_HAVE_RUN)
        orders = [f"report {t.dir}/may-have-run {t.dir}/left", "arm", f"report {t.dir}/clean {t.dir}/left"]
        if both_die:
            dead_run(t, place, *leaf.options(), orders=orders)
            t.equal(recover(t)["healed"], 1)
        else:
            drive = Drive(t, *place.options(*leaf.options()))
            for order in orders:
                drive.tell(order)
            drive.kill()
            drive.watchdog_ends()
        place.nothing_left()
        t.equal(place.said(), {MAY_HAVE_RUN if both_die else CLEAN})
        shutil.rmtree(t.dir / "scope")
        shutil.rmtree(t.dir / "gone")


@case("what cannot be ended stays on record, and the answer is no", deadline_s=120)
def _(t):
    place, leaf = Place(t), Leaf(t, deaf=True)
    dead_run(t, place, *leaf.options())
    seen = recover(t, expected=1)
    t.equal((seen["left"], seen["runs"][0]["what"]), (1, "left: processes"))
    t.equal((len(place.manifests()), place.said()), (1, {LEFT}))
    (leaf.scope / "cgroup.events").unlink()
    (leaf.folder / "cgroup.events").write_text("populated 0\n")
    leaf.folder.rename(t.dir / "gone")
    t.equal(recover(t)["healed"], 1)
    t.equal((place.manifests(), place.said()), ([], {CLEAN}))


@case("a manifest that is cut, changed, of a later berm, a link or a FIFO is told and stays")
def _(t):
    place = Place(t)
    manifest = dead_run(t, place, orders=())
    whole = manifest.read_bytes()
    kinds = {"cut": whole[:-1], "short": whole[:100], "changed": whole[:5000] + b"x" + whole[5001:],
             "later": whole[:8] + struct.pack("<I", 2) + whole[12:]}
    for kind, text in kinds.items():
        manifest.write_bytes(text)
        seen = recover(t, expected=1)
        t.equal((seen["left"], manifest.read_bytes() == text), (1, True), kind)
        t.contains(seen["runs"][0]["what"], "later berm (version 2)" if kind == "later" else manifest.name)
    manifest.unlink()
    for kind in ("link", "fifo"):
        if kind == "link":
            manifest.symlink_to("/etc/passwd")
        else:
            os.mkfifo(manifest)
        t.equal(recover(t, expected=1)["left"], 1, kind)
        manifest.unlink()
    t.equal(place.said(), {PROVISIONAL})
    manifest.write_bytes(whole)
    t.equal(recover(t)["healed"], 1)
    place.nothing_left()


@case("S3 both die before each system call of the watchdog: recover leaves nothing", deadline_s=600)
def _(t):
    place = Place(t)
    number, healed = 0, 0
    while True:
        number += 1
        place.renew()
        done = t.run(KILL_AT, "--duty", "watchdog", "--too", "--nth", number, t.dir / "out", *Drive.command(place),
                     stdin=b"fd 0\ndisarm\n")
        died = (t.dir / "out").read_text().startswith("killed")
        t.wait_until(lambda: not children(), "all end")
        recorded = len([name for name in place.manifests() if name.endswith(".watch")])
        seen = recover(t)
        t.equal((seen["healed"], seen["left"]), (recorded, 0), f"call {number}: {seen} {done}")
        place.nothing_left(f"call {number}")
        t.equal(place.said(), {CLEAN} if recorded else {PROVISIONAL}, f"call {number}: {done}")
        healed += recorded
        if not died:
            break
    print(f"# {number - 1} calls, {healed} times there was a manifest")
    t.true(healed > 25, healed)


@case("S3 recover dies before each of its system calls: the next one, or its watchdog, finishes", deadline_s=600)
def _(t):
    place = Place(t)
    number, left_to_the_next = 0, 0
    while True:
        number += 11  # it makes some hundreds, most of them before anything is at stake
        place.renew()
        dead_run(t, place, orders=())
        t.run(KILL_AT, "--nth", number, t.dir / "out", berm_path(), "recover", "--runs", "--json")
        died = (t.dir / "out").read_text().startswith("killed")
        t.wait_until(lambda: not children(), "all end")
        seen = recover(t)
        left_to_the_next += seen["healed"]
        t.equal(seen["left"], 0, f"call {number}: {seen}")
        place.nothing_left(f"call {number}")
        t.equal(place.said(), {CLEAN}, f"call {number}")
        if not died:
            break
    print(f"# up to {number} calls, {left_to_the_next} times the next one healed it")


main()
