#!/usr/bin/env bash
# Installs what the tests need beside Go: Debian packages and, for the browser
# tests, pinned npm packages. It says what is missing where it may not install.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin # where Debian keeps nginx, and not in everybody's PATH

missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need nginx nginx-light
need ffmpeg ffmpeg
need chromium chromium
need node nodejs
need npm npm
need promtool prometheus

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "The tests need these Debian packages: ${missing[*]}" >&2
    echo "Install them, or run this script as root on Debian 12 or later." >&2
    exit 1
  fi
  echo "installing Debian packages: ${missing[*]}"
  apt-get update -qq
  wanted=()
  for package in "${missing[@]}"; do
    # Debian has Chromium for some kinds of machine only.
    if [ "$package" = chromium ] && [[ "$(apt-cache policy chromium)" != *'Candidate: '[!\(]* ]]; then
      echo "There is no Chromium to install here: the tests of players in it will be skipped."
    else
      wanted+=("$package")
    fi
  done
  # In runlevel 1 no service is started: the tests run an nginx of their own, and
  # of Prometheus the tool that checks rules.
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
fi

if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 18 ]; then
  echo "The browser tests need node 18 or later; this is $(node --version)." >&2
  exit 1
fi

# npm writes this file last, so it tells of a whole installation.
if [ test/browser/package-lock.json -nt test/browser/node_modules/.package-lock.json ]; then
  echo "installing the npm packages of test/browser"
  if ! (cd test/browser && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null); then
    echo "The browser tests need the npm packages of test/browser/package-lock.json: run \`npm ci\` there." >&2
    exit 1
  fi
fi

# livesim2 is a test tool with modules of its own. Its test says so when they
# cannot be had.
(cd test/livesim && go mod download) || echo "The modules of test/livesim could not be downloaded." >&2

# The validator of steering manifests (test/steeringlib).
if [ test/steeringlib/package-lock.json -nt test/steeringlib/node_modules/.package-lock.json ]; then
  echo "installing the npm package of test/steeringlib"
  (cd test/steeringlib && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null) ||
    { echo "The steering tests need the npm package of test/steeringlib/package-lock.json: run \`npm ci\` there." >&2; exit 1; }
fi
