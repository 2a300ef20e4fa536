#!/bin/sh
# Measures a web page: `baton agent run` starts this once for each task, whose title is the address.
set -eu

# A line for the runner (docs/runner.md).
tell() { printf '%s %s\n' "$BATON_MARK" "$1"; }

task=$(cat)
case $BATON_TASK_TITLE in
  http://* | https://*) ;;
  *) tell '{"do":"comment","body":"The title must be an http address."}'; exit 2 ;;
esac

# An earlier attempt may have loaded the page before it was stopped: a saved step is not repeated.
bytes=$(printf '%s' "$task" | sed -n 's/.*"kind":"loaded","data":{"bytes":\([0-9]*\)}.*/\1/p')
if [ -z "$bytes" ]; then
  # 75 fails temporarily: an unavailable server may respond to the next attempt.
  curl -fsS --max-time 20 --max-filesize 10000000 -o page -- "$BATON_TASK_TITLE" || exit 75
  bytes=$(wc -c < page | tr -d ' ')
  tell "{\"do\":\"checkpoint\",\"kind\":\"loaded\",\"data\":{\"bytes\":$bytes}}"
fi

echo "$BATON_TASK_TITLE has $bytes bytes"
tell "{\"do\":\"output\",\"data\":{\"bytes\":$bytes}}"
