# Shared by capi_test.sh, go_test.sh, hosts_test.sh and dist.sh: steps with their times, things that must hold, programs that count
# for themselves, and the last line. Sourced.

passed=0 failed=0
started=$(date +%s)

step() { echo "== $* [$(($(date +%s) - started)) s]"; }
ok() { passed=$((passed + 1)); echo "ok     $*"; }
bad() { failed=$((failed + 1)); echo "FAILED $*"; }

# holds NAME COMMAND...: the command's output is shown only if it fails. Fails as the command does.
holds() {
  local name=$1 said; shift
  if said=$("$@" 2>&1); then ok "$name"; else bad "$name"; printf '%s\n' "$said" | head -n 40; return 1; fi
}

# program NAME COMMAND...: a test program, which ends with "N passed, N failed".
program() {
  local name=$1 said code counts; shift
  said=$(timeout 300 "$@" 2>&1); code=$?
  counts=$(printf '%s\n' "$said" | grep -E '^[0-9]+ passed, [0-9]+ failed$' | tail -n 1)
  if [ -z "$counts" ]; then bad "$name: ended with $code"; printf '%s\n' "$said" | tail -n 40; return; fi
  set -- $counts
  passed=$((passed + $1)) failed=$((failed + $3))
  printf '%s\n' "$said" | grep -E '^ +\(not under' | sort -u
  if [ "$3" -eq 0 ] && [ "$code" -eq 0 ]; then echo "ok     $name: $1 tests"; return; fi
  [ "$3" -eq 0 ] && failed=$((failed + 1))
  echo "FAILED $name: ended with $code"
  printf '%s\n' "$said" | grep -v '^ok ' | tail -n 60
}

# finish: the last line; fails where something did.
finish() { echo "$passed passed, $failed failed"; [ "$failed" -eq 0 ]; }
give_up() { bad "$*"; finish; exit 1; }
