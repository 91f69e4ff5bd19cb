#!/bin/bash
# Trees that hide, outlive and multiply; as root, berm in pid namespaces and as their pid 1.
# run as: user root
# long
if [ "$(id -u)" = 0 ]; then
    exec ./adversary/processes.py 'T12 ' 'R18 berm as pid 1' 'T19 ' 'T20 '
fi
exec ./adversary/processes.py 'T1 ' 'T2 ' 'T3 ' 'T4 a chain' \
    'T4 a storm of forks' 'T10 ' 'T17 ' 'R3 '
