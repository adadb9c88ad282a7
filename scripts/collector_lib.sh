# Shared by collector_test.sh, collector_deep.sh and peers_test.sh: a folder of their own, a PostgreSQL of their own, and its end. Sourced.

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

# An authority of its own in $1, and a certificate for localhost that it signed.
make_certificates() { # folder
  local of="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
  (
    cd "$1"
    # shellcheck disable=SC2086
    openssl req -x509 $of -subj "/CN=test authority" -keyout ca.key -out ca.pem &&
      openssl req $of -subj "/CN=localhost" -keyout server.key -out server.csr &&
      openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out server.pem \
        -extfile <(echo "subjectAltName=DNS:localhost")
  ) 2>"$work/openssl.log"
}

# A PostgreSQL in $work, on a free port of the loopback, with and without TLS; sets FORGE_TEST_POSTGRES, and
# FORGE_TEST_AUTHORITY to the file of its certificate's authority. It never runs as root.
start_postgres() {
  if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then need_command postgres postgresql; fi
  need_command openssl openssl
  local bin as=() data=$work/postgres port
  bin=$(postgres_bin)
  mkdir "$data"
  chmod 755 "$work"
  if [ "$(id -u)" = 0 ]; then
    chown postgres "$data"
    as=(runuser -u postgres --)
  fi
  mkdir "$work/tls"
  make_certificates "$work/tls"
  if [ "$(id -u)" = 0 ]; then chown -R postgres "$work/tls"; fi
  chmod 600 "$work/tls/server.key"
  (cd / && "${as[@]}" "$bin/initdb" -D "$data" -A trust -U postgres -E UTF8 --locale=C >"$work/initdb.log" 2>&1)
  port=$(free_port)
  # runuser would stand between us and the server, so the server's own pid is read from its file.
  (cd / && exec "${as[@]}" "$bin/postgres" -D "$data" -c listen_addresses=127.0.0.1 -c port="$port" -c unix_socket_directories= \
    -c max_connections=300 -c ssl=on -c ssl_cert_file="$work/tls/server.pem" -c ssl_key_file="$work/tls/server.key" >"$work/postgres.log" 2>&1) &
  for _ in $(seq 100); do
    if [ -s "$data/postmaster.pid" ] && "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; then break; fi
    sleep 0.1
  done
  postgres_pid=$(head -1 "$data/postmaster.pid")
  export FORGE_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port" FORGE_TEST_AUTHORITY="$work/tls/ca.pem"
  # Where a URL does not say otherwise: the figures are those of a plain connection.
  export PGSSLMODE=disable
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

install_schemathesis() {
  python3 -m venv "$work/venv-schemathesis"
  "$work/venv-schemathesis/bin/pip" -q install --disable-pip-version-check schemathesis
}

# What the OpenAPI document promises, against the collector at $address with $key. From $work: it leaves a cache where it runs.
run_schemathesis() { # seconds examples
  (cd "$work" && timeout "$1" "$work/venv-schemathesis/bin/st" --config-file "$root/collector/tests/schemathesis.toml" run \
    "http://$address/openapi.json" -H "Authorization: Bearer $key" -c all -n "$2" --seed 1 --no-color)
}
