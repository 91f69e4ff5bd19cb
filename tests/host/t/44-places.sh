#!/bin/bash
# Places of reports: contested, replaced, somebody else's; as root, full and read-only ones.
# run as: user root
# long: root
if [ "$(id -u)" = 0 ]; then
    exec ./adversary/places.py 'D7 ' 'D8 ' 'a state folder that is full' 'D9 a parent'
fi
exec ./adversary/places.py 'D9 a report path that is a link' 'S7 ' 'R61 ' 'not trusted'
