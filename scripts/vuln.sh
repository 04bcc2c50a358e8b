#!/usr/bin/env bash
# Known vulnerabilities in what is really called. The vulnerability database is
# taken as a Go module and indexed here, so that no other service is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(
  cd "$dir"
  go mod init vulncheck >/dev/null 2>&1
  go get golang.org/x/vulndb/cmd/indexdb@v0.0.0-20261105234957-e22db6528018 golang.org/x/vuln/cmd/govulncheck@v1.9.0 >/dev/null
  src=$(go list -m -f '{{.Dir}}' golang.org/x/vulndb)
  go build -o govulncheck golang.org/x/vuln/cmd/govulncheck
  go build -o indexdb golang.org/x/vulndb/cmd/indexdb
  ./indexdb -vulns "$src/data/osv" -out "$dir/db"
)
echo "checked with the vulnerability database of 2026-11-05 and $(go version)"
"$dir/govulncheck" -db "file://$dir/db" ./...
