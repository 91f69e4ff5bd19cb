#!/bin/bash
# Attacks on the sandbox, where the kernel, systemd and cgroup v2 are others than elsewhere.
# run as: user root
# long: root
if [ "$(id -u)" = 0 ]; then
    exec ./adversary/sandbox.py core-pattern connect-bus
fi
exec ./adversary/sandbox.py 'R33 plant-hook:' connect-abstract 'R15 outlive'
