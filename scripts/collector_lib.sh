# Shared by collector_test.sh and collector_deep.sh: a folder of their own, a PostgreSQL of their own, and its end. Sourced.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
postgres_pid=
collector_pids=()

clean_up() {
  for pid in "${collector_pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  if [ -n "$postgres_pid" ]; then
    # SIGINT is PostgreSQL's fast shutdown.
    kill -INT "$postgres_pid" 2>/dev/null || true
    for _ in $(seq 50); do kill -0 "$postgres_pid" 2>/dev/null || break; sleep 0.1; done
  fi
  rm -rf "$work"
}
trap clean_up EXIT

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Installs Debian packages that are missing, where that is possible; says so where it is not.
need_command() { # command package...
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
  else
    echo "$command is missing; install the package $1" >&2
    return 1
  fi
}

postgres_bin() {
  local server
  server=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  if [ -n "$server" ]; then echo "$server"; else dirname "$(readlink -f "$(command -v postgres)")"; fi
}

# A PostgreSQL in $work, on a free port of the loopback; sets FORGE_TEST_POSTGRES. It never runs as root.
start_postgres() {
  if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then need_command postgres postgresql; fi
  local bin as=() data=$work/postgres port
  bin=$(postgres_bin)
  mkdir "$data"
  chmod 755 "$work"
  if [ "$(id -u)" = 0 ]; then
    chown postgres "$data"
    as=(runuser -u postgres --)
  fi
  (cd / && "${as[@]}" "$bin/initdb" -D "$data" -A trust -U postgres -E UTF8 --locale=C >"$work/initdb.log" 2>&1)
  port=$(free_port)
  # runuser would stand between us and the server, so the server's own pid is read from its file.
  (cd / && exec "${as[@]}" "$bin/postgres" -D "$data" -c listen_addresses=127.0.0.1 -c port="$port" -c unix_socket_directories= \
    -c max_connections=300 >"$work/postgres.log" 2>&1) &
  for _ in $(seq 100); do
    if [ -s "$data/postmaster.pid" ] && "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; then break; fi
    sleep 0.1
  done
  postgres_pid=$(head -1 "$data/postmaster.pid")
  export FORGE_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port"
}

# Starts a collector and waits until it listens; sets address and pid. Further arguments go to serve.
start_collector() { # database options...
  local database=$1 file
  shift
  file=$(mktemp -u "$work/address.XXXXXX")
  "$collector" --database "$database" serve --listen 127.0.0.1:0 --address-file "$file" "$@" 2>>"$work/collector.log" &
  pid=$!
  collector_pids+=("$pid")
  for _ in $(seq 200); do [ -s "$file" ] && break; sleep 0.05; done
  address=$(cat "$file")
}
