#!/bin/bash
# guest/launch and guest/run-tests do what their heads say.
# run as: root
# shellcheck disable=SC2016 # what stands in single quotes is for other shells
set -uo pipefail
# shellcheck disable=SC1091 # it is in the guest
. /host/lib/tap.sh

# code COMMAND...: print an exit code
code() {
    "$@" >/dev/null 2>&1
    echo $?
}

plan 23

for as in user root; do
    launch=(/host/lib/launch "$as")
    is "$(code "${launch[@]}" -- sh -c 'kill -KILL $$')" 137 "$as: death by signal"
    is "$(code "${launch[@]}" -- /none)" 127 "$as: no such program"
    is "$(code "${launch[@]}" -- /etc/passwd)" 126 "$as: no program"
    is "$(code "${launch[@]}" --seconds 1 -- sleep 1000)" 124 "$as: time limit"
    is "$("${launch[@]}" -- printf '<%s>' '' $'a\nb' '$HOME ${HOME} %h' "'\"\\" $'\xff' -- |
        base64 -w 0)" \
        "$(printf '<%s>' '' $'a\nb' '$HOME ${HOME} %h' "'\"\\" $'\xff' -- | base64 -w 0)" \
        "$as: arguments, byte for byte"
    is "$("${launch[@]}" -- sh -c 'echo out; echo err >&2' 2>/dev/null)" out "$as: stdout apart"
    is "$("${launch[@]}" -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null)" err "$as: stderr apart"
    is "$("${launch[@]}" -- sh -c 'echo 1 >/dev/stdout')" 1 "$as: stdout can be opened"
done

# what run-tests makes of TAP
work=$(mktemp -d)
# judge CODE LINES: run a test that prints LINES and exits with CODE; print the cases and the code
judge() {
    printf '#!/bin/sh\ncat <<EOF\n%s\nEOF\nexit %s\n' "$2" "$1" >"$work/a"
    chmod 755 "$work" "$work/a"
    /host/lib/run-tests "$work/a" | sed -n 's/^\(ok\|not ok\|1\.\.\)/&/p'
    echo "exit ${PIPESTATUS[0]}"
}
is "$(judge 0 $'1..2\nok 1 - x\nok 2 - y')" \
    $'ok 1 - a (user): x\nok 2 - a (user): y\n1..2\nexit 0' "all is well"
is "$(judge 1 $'1..1\nnot ok 1 - x # TODO')" \
    $'not ok 1 - a (user): x  TODO\n1..1\nexit 1' "a failed case, whatever its excuse"
is "$(judge 0 $'1..1\nok 1 - x # SKIP no')" \
    $'not ok 1 - a (user): x  SKIP no\n1..1\nexit 1' "a skipped case fails"
is "$(judge 0 $'1..2\nok 1 - x')" \
    $'ok 1 - a (user): x
not ok 2 - a (user): plan of \'2\' cases, 1 seen, exit code 0\n1..2\nexit 1' \
    "too few cases"
is "$(judge 0 '')" \
    $'not ok 1 - a (user): plan of \'\' cases, 0 seen, exit code 0\n1..1\nexit 1' "no plan"
is "$(judge 0 '1..0 # SKIP no')" \
    $'not ok 1 - a (user): all skipped\n1..1\nexit 1' "a test that skips all"
is "$(judge 3 $'1..1\nok 1 - x')" \
    $'ok 1 - a (user): x
not ok 2 - a (user): exit code 3 and no case that explains it\n1..2\nexit 1' \
    "an unexplained exit code"
rm -r "$work"
