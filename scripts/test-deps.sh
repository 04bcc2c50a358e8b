#!/usr/bin/env bash
# Installs what the tests need beside Go: Debian packages and, for the browser
# tests, pinned npm packages. It says what is missing where it may not install.
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need nginx nginx-light
need ffmpeg ffmpeg
need chromium chromium
need node nodejs
need npm npm

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Debian packages: ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  else
    echo "The tests need these Debian packages: ${missing[*]}" >&2
    echo "Install them, or run this script as root on Debian or Ubuntu." >&2
    exit 1
  fi
fi

if [ ! -d test/browser/node_modules ] || [ test/browser/package-lock.json -nt test/browser/node_modules ]; then
  echo "installing the npm packages of test/browser"
  (cd test/browser && npm ci --ignore-scripts --no-audit --no-fund --silent)
  touch test/browser/node_modules
fi
