#!/usr/bin/env bash
# Runs every fuzz target of the repository for the given time.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
  dir=$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/^func //' | while read -r target; do
    echo "$dir $target $time"
    go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
  done
done
