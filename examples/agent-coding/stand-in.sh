#!/bin/sh
# Replaces a coding agent in the test: reads its instructions, and writes the title of the task.
set -eu
title=$(sed -n 's/.*"task":{[^}]*"title":"\([^"]*\)".*/\1/p')
echo "$title" >> CHANGES
echo "${BATON_MARK-::baton::} "'{"do":"output","data":{"claimed":"by the agent itself"}}'
echo "I wrote down: $title"
