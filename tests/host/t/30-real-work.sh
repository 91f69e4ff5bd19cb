#!/bin/bash
# Real programs under berm: those cases of contract/real-work.py whose programs the guest has.
# run as: user root
if [ "$(id -u)" = 0 ]; then
    exec ./contract/real-work.py 'Python,' pipeline
fi
exec ./contract/real-work.py stress-ng sqlite3 'Python,' pipeline
