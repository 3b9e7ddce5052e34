#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How ./dev behaves around the builds: help, wrong commands, and installing, with stand-ins for the programs it calls.
# usage: dev_script_test.sh PATH_OF_DEV
set -euo pipefail

dev=$1
stubs=$(mktemp -d)
trap 'rm -rf "$stubs"' EXIT
log=$stubs/log

# stub NAME BODY : a program that writes down its call, then runs BODY.
stub() {
  printf '#!/usr/bin/env bash\necho "%s $*" >>"%s"\n%s\n' "$1" "$log" "$2" >"$stubs/$1"
  chmod +x "$stubs/$1"
}

# expect STATUS PATTERN ARGUMENTS... : runs ./dev; everything it prints must match PATTERN somewhere.
expect() {
  local status=0 wanted=$1 pattern=$2 output
  shift 2
  : >"$log"
  output=$(PATH=$stubs:$PATH bash "$dev" "$@" 2>&1) || status=$?
  if [[ $status != "$wanted" ]] || ! grep -qE -- "$pattern" <<<"$output"; then
    printf 'dev %s: wanted exit code %s and "%s", got %s and:\n%s\n' \
      "$*" "$wanted" "$pattern" "$status" "$output"
    exit 1
  fi
}

# called TIMES PATTERN : how many logged calls of stand-ins match.
called() {
  local times
  times=$(grep -cE -- "$2" "$log" || true)
  if [[ $times != "$1" ]]; then
    printf 'wanted %s calls of "%s", got %s:\n%s\n' "$1" "$2" "$times" "$(cat "$log")"
    exit 1
  fi
}

expect 0 '^usage: \./dev'
expect 0 '^usage: \./dev' --help
expect 0 '^usage: \./dev' help
for command in run test bench format lint ci; do expect 0 "^  $command " help; done

expect 2 'no command "tset"; there are: run test' tset

COLLSIM_SHARED=/no-such-folder expect 77 'skipped: no /no-such-folder/samples' samples

expect 0 '^  gpu \[FILE\]' help
expect 2 'gpu has no option "--bogus"' gpu --bogus
expect 2 'phases needs a list' gpu --phases
if ! compgen -G '/dev/nvidia[0-9]*' >/dev/null && [[ ! -e /dev/dxg ]]; then
  stub nvidia-smi 'exit 9'
  expect 3 'no GPU here' gpu results.md
  called 1 'nvidia-smi -L'
fi

stub clang-format-14 ''
stub apt-get ''
stub sudo '"$@"'
stub id 'echo 0'

stub dpkg-query 'echo installed'
expect 0 '' format
called 0 'apt-get'
called 1 'clang-format-14 -i .*\.cpp'

stub dpkg-query 'exit 1'
expect 0 'installing clang-format-14' format
called 1 'apt-get .*update'
called 1 'apt-get .*install .*clang-format-14'
called 0 'sudo'

stub id 'echo 1000'
expect 0 'installing clang-format-14' format
called 2 'sudo .*apt-get'

stub apt-get 'exit 100'
expect 1 'apt-get update failed' format

rm "$stubs/sudo"
if ! command -v sudo >/dev/null; then
  expect 1 'neither root nor sudo .* apt-get install clang-format-14' format
fi

# What ./dev looks for in the arguments of run must not take the program's own input away.
elsewhere=$stubs/elsewhere
mkdir -p "$elsewhere/build/release"
cp "$dev" "$elsewhere/dev"
dev=$elsewhere/dev
stub dpkg-query 'echo installed'
stub cmake ''
printf '#!/usr/bin/env bash\necho "ran $*: $(cat)"\n' >"$elsewhere/build/release/collsim"
chmod +x "$elsewhere/build/release/collsim"
expect 0 '^ran run -: the scenario$' run run - <<<'the scenario'
expect 0 '^ran : nothing to read$' run <<<'nothing to read'
