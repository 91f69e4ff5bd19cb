#!/bin/bash
# Real programs under berm: those cases of contract/real-work.py whose programs the guest has.
# run as: user root
# long: root
if [ "$(id -u)" = 0 ]; then
    exec ./contract/real-work.py 'to the byte (RP-1, O4): plain' 'EX-4): plain'
fi
exec ./contract/real-work.py 'processor (RP-1): plain' 'sqlite3 (RP-1): plain' \
    'to the byte (RP-1, O4): plain' 'EX-4): plain'
