#!/bin/sh
# Import a file of evaluations into a run, wait for the import, and print the outcomes of its lines. Needs curl and jq.
# Usage: sh push_run.sh FILE RUN [SECONDS]
# COGNIREVIEW_URL and COGNIREVIEW_TOKEN (scope import) come from the environment. Exit status: 0 if all lines
# were imported, 1 if some were rejected, 2 if the import failed or is not finished.
set -eu
fail() { printf '%s\n' "$*" >&2; exit 2; }
[ -n "${COGNIREVIEW_URL:-}" ] && [ -n "${COGNIREVIEW_TOKEN:-}" ] || fail 'Set COGNIREVIEW_URL and COGNIREVIEW_TOKEN.'
[ $# -ge 2 ] || fail 'sh push_run.sh FILE RUN [SECONDS]'
url=${COGNIREVIEW_URL%/}/api/v1 file=$1 seconds=${3:-600}
run=$(jq --null-input --raw-output --arg run "$2" '$run | @uri')

api() { # token through a pipe, because everybody can see the arguments of programs
  printf 'header = "Authorization: Bearer %s"\n' "$COGNIREVIEW_TOKEN" |
    curl --config - --silent --show-error --fail-with-body --max-time 300 "$@"
}
member() { printf '%s' "$imported" | jq --raw-output "$1"; }

imported=$(api --header 'Content-Type: application/x-ndjson' --request POST --upload-file "$file" \
  "$url/runs/$run/imports") || fail "$imported"
id=$(member .id) end=$(($(date +%s) + seconds))
while state=$(member .state); [ "$state" = queued ] || [ "$state" = running ]; do
  [ "$(date +%s)" -lt "$end" ] || fail "Import $id is $state."
  sleep 1
  imported=$(api "$url/imports/$id") || fail "$imported"
done
[ "$state" = done ] || fail "Import $id is $state. $(member .error)"

echo "Import $id: $(member '.counts | to_entries | map(select(.value > 0) | "\(.value) \(.key)") | join(", ")')"
api "$url/imports/$id/rejects" | jq --raw-output '"line \(.line): \([.field, .reason] | map(select(. != "")) | join(" "))"'
[ "$(member .counts.rejected)" = 0 ]
