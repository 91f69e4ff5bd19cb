#!/bin/bash
# The guest is what the host tests take it for.
# run as: user root
# long: root
set -uo pipefail
# shellcheck disable=SC1091 # it is in the guest
. /host/lib/tap.sh

uid=$(id -u)
cgroup=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ "$uid" = 0 ]; then
    systemctl=(systemctl) systemd_run=(systemd-run)
    # The topmost folder is the system's own; what it hands out stands in its subtree_control.
    delegated=/sys/fs/cgroup/cgroup.subtree_control
    plan 22
else
    systemctl=(systemctl --user) systemd_run=(systemd-run --user)
    delegated=/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/cgroup.controllers
    plan 25
fi

# the system and its managers
is "$(ps -o comm= -p 1)" systemd "systemd is pid 1"
is "$(systemctl is-system-running)" running "the system is up, no unit failed"
is "$("${systemctl[@]}" is-system-running)" running "the manager is up, no unit failed"
is "$(stat -f -c %T /sys/fs/cgroup)" cgroup2fs "cgroup v2 alone"
for controller in cpu memory pids; do
    ok "controller $controller is delegated" grep -qw "$controller" "$delegated"
done

# mounts
is "$(stat -f -c %T / /dev/shm /proc "/run/user/1000" | xargs)" "ext2/ext3 tmpfs proc tmpfs" \
    "kinds of file systems"
is "$(findmnt -n -o FSTYPE /sys/fs/cgroup)" cgroup2 "cgroup v2 is where it always is"

# this test's own place
is "$PWD" /host/in "working folder"
is "$(readlink /proc/self/fd/0)" /dev/null "stdin is empty"
berm=$(find "$BERM_BUILD" -name berm -type f)
berm=${berm:-$BERM_BUILD/berm}
is "${PATH%%:*}" "${berm%/*}" "the programs under test are first on PATH"
ok "\$OUT is writable" touch "$OUT/$uid"
ok "own cgroup is delegated: a leaf can be made" mkdir "$cgroup/leaf"
ok "... and its processes killed at once" sh -c "echo 1 >$cgroup/leaf/cgroup.kill"
ok "... and be removed" rmdir "$cgroup/leaf"

# limits are real
# limited LIMIT PYTHON: run a program in a scope with a limit, print its exit code
limited() {
    "${systemd_run[@]}" --scope --quiet --collect --property="$1" --property=MemorySwapMax=0 -- \
        python3 -c "$2" 2>/dev/null
    echo $?
}
is "$(limited MemoryMax=64M 'x = b"1" * (256 << 20)')" 137 "MemoryMax kills"
is "$(limited MemoryMax=256M 'x = b"1" * (64 << 20)')" 0 "... but only above it"
is "$(limited TasksMax=8 '
import os, signal
children = []
try:
    while len(children) < 20:
        children.append(os.fork())
        if children[-1] == 0:
            signal.pause()
except BlockingIOError:
    print(len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
')" $'7\n0' "TasksMax refuses the ninth task"

# room: the reserves that berm keeps must not refuse every run
memory_mib=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
disk_mib=$(df --output=avail -m / | tail -n 1)
ok "3 GiB of memory are available" [ "$memory_mib" -ge 3072 ]
ok "8 GiB of disk are free" [ "$disk_mib" -ge 8192 ]

if [ "$uid" = 0 ]; then
    session=$(systemd-run --quiet --pipe --wait --collect --property=User=tester \
        --property=PAMName=login -- cat /proc/self/cgroup)
    ok "a login gets a session scope" grep -q '/session-[^/]*\.scope$' <<<"$session"
else
    is "$uid" 1000 "uid"
    is "$XDG_RUNTIME_DIR" /run/user/1000 "runtime folder"
    is "$(loginctl show-user tester --property=Linger --value)" yes "the user lingers"
    ok "bubblewrap runs fully unshared" \
        bwrap --unshare-all --die-with-parent --ro-bind / / --proc /proc --dev /dev true
fi
