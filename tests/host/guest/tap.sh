# shellcheck shell=bash
# tap.sh - the few words that shell tests of the host are written in; sourced by them
#
#   . /host/lib/tap.sh
#   plan 2
#   is "$(id -u)" 1000 "uid"
#   ok "the file is there" test -e /etc/passwd
#
# The plan comes first. Every case is one line `ok` or `not ok`; a failed one is followed by what
# was found. Output of a test that is no TAP belongs to stderr.
tap_count=0

# plan N: the number of cases
plan() {
    echo "1..$1"
}

# report VERDICT NAME
report() {
    tap_count=$((tap_count + 1))
    echo "$1 $tap_count - $2"
}

# ok NAME COMMAND [ARG...]: the command succeeds; its output is shown when it does not
ok() {
    local name=$1 output code=0
    shift
    output=$("$@" 2>&1) || code=$?
    if [ "$code" = 0 ]; then
        report ok "$name"
    else
        report "not ok" "$name"
        printf '%s\n' "exit code $code of: $*" "$output" | sed 's/^/# /'
    fi
}

# is FOUND WANTED NAME: two texts are equal
is() {
    if [ "$1" = "$2" ]; then
        report ok "$3"
    else
        report "not ok" "$3"
        printf '%s\n' "found:  $1" "wanted: $2" | sed 's/^/# /'
    fi
}
