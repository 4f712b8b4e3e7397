#!/bin/sh
# Bring a file of evaluations into a run, wait for it, and say what became of its lines. Needs curl and jq.
# Usage: sh push_run.sh FILE RUN [SECONDS]
# COGNIREVIEW_URL and COGNIREVIEW_TOKEN (scope import) come from the environment. Exit status: 0 every line is
# in, 1 some were rejected, 2 the file is not in, or not yet.
set -eu
fail() { printf '%s\n' "$*" >&2; exit 2; }
[ -n "${COGNIREVIEW_URL:-}" ] && [ -n "${COGNIREVIEW_TOKEN:-}" ] || fail 'Set COGNIREVIEW_URL and COGNIREVIEW_TOKEN.'
[ $# -ge 2 ] || fail 'sh push_run.sh FILE RUN [SECONDS]'
url=${COGNIREVIEW_URL%/}/api/v1 file=$1 seconds=${3:-600}
run=$(jq --null-input --raw-output --arg run "$2" '$run | @uri')

api() { # by a pipe, because everybody on a machine sees the arguments of programs
  printf 'header = "Authorization: Bearer %s"\n' "$COGNIREVIEW_TOKEN" |
    curl --config - --silent --show-error --fail-with-body --max-time 300 "$@"
}
member() { printf '%s' "$told" | jq --raw-output "$1"; }

told=$(api --header 'Content-Type: application/x-ndjson' --request POST --upload-file "$file" \
  "$url/runs/$run/imports") || fail "$told"
id=$(member .id) end=$(($(date +%s) + seconds))
while state=$(member .state); [ "$state" = queued ] || [ "$state" = running ]; do
  [ "$(date +%s)" -lt "$end" ] || fail "Import $id is $state."
  sleep 1
  told=$(api "$url/imports/$id") || fail "$told"
done
[ "$state" = done ] || fail "Import $id is $state. $(member .error)"

echo "Import $id: $(member '.counts | to_entries | map(select(.value > 0) | "\(.value) \(.key)") | join(", ")')"
api "$url/imports/$id/rejects" | jq --raw-output '"line \(.line): \(.field) \(.reason)"'
[ "$(member .counts.rejected)" = 0 ]
