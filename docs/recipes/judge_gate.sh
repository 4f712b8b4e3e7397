#!/bin/sh
# Fail a build if the judge of a run is not good enough. Needs curl and jq.
# Usage: sh judge_gate.sh RUN 'accuracy >= 0.8'
# COGNIREVIEW_URL and COGNIREVIEW_TOKEN (of a lead or an admin, with the scope read) come from the environment.
# Exit status: 0 if the requirement is met, 1 if the judge is shown to be worse, 2 if neither is shown yet (too few
# ratings, uncounted records, no response).
set -eu
fail() { printf '%s\n' "$*" >&2; exit 2; }
[ -n "${COGNIREVIEW_URL:-}" ] && [ -n "${COGNIREVIEW_TOKEN:-}" ] || fail 'Set COGNIREVIEW_URL and COGNIREVIEW_TOKEN.'
[ $# -eq 2 ] || fail "sh judge_gate.sh RUN 'METRIC >= LIMIT'"
run=$(jq --null-input --raw-output --arg run "$1" '$run | @uri')
# The token goes through a pipe, because everybody on a machine can see the arguments of programs.
report=$(printf 'header = "Authorization: Bearer %s"\n' "$COGNIREVIEW_TOKEN" |
  curl --config - --silent --show-error --fail-with-body --max-time 60 --get --data-urlencode "require=$2" \
    "${COGNIREVIEW_URL%/}/api/v1/runs/$run/report") || fail "$report"
printf '%s' "$report" | jq --raw-output '.requirements[0].sentence' || fail 'The response is not a report.'
case $(printf '%s' "$report" | jq --raw-output '.requirements[0].outcome') in
  met) exit 0 ;;
  'shown worse') exit 1 ;;
  *) exit 2 ;;
esac
