#!/bin/bash
# The same programs in the sandbox of an ordinary user, and of root's --user.
# run as: user root
# long: root
if [ "$(id -u)" = 0 ]; then
    exec ./contract/real-work.py 'EX-4): sandbox'
fi
exec ./contract/real-work.py 'processor (RP-1): sandbox' 'sqlite3 (RP-1): sandbox' \
    'EX-4): sandbox'
