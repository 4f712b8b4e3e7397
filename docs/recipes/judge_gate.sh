#!/bin/sh
# End a build if the judge of a run is not good enough. Needs curl and jq.
# Usage: sh judge_gate.sh RUN 'blind flagged kappa >= 0.6'
# COGNIREVIEW_URL and COGNIREVIEW_TOKEN (scope read, of a lead or an admin) come from the environment. Exit
# status: 0 it is met, 1 it is shown to be missed, 2 it cannot be told (too few decisions, records still being
# counted, no answer of the server).
set -eu
fail() { printf '%s\n' "$*" >&2; exit 2; }
[ -n "${COGNIREVIEW_URL:-}" ] && [ -n "${COGNIREVIEW_TOKEN:-}" ] || fail 'Set COGNIREVIEW_URL and COGNIREVIEW_TOKEN.'
[ $# -eq 2 ] || fail "sh judge_gate.sh RUN 'FIGURE >= BAR'"
run=$(jq --null-input --raw-output --arg run "$1" '$run | @uri')
# By a pipe, because everybody on a machine sees the arguments of programs.
told=$(printf 'header = "Authorization: Bearer %s"\n' "$COGNIREVIEW_TOKEN" |
  curl --config - --silent --show-error --fail-with-body --max-time 60 --get --data-urlencode "require=$2" \
    "${COGNIREVIEW_URL%/}/api/v1/runs/$run/report") || fail "$told"
printf '%s' "$told" | jq --raw-output '.requirements[0].sentence' || fail 'This is no report.'
case $(printf '%s' "$told" | jq --raw-output '.requirements[0].outcome') in
  met) exit 0 ;;
  missed) exit 1 ;;
  *) exit 2 ;;
esac
