#!/bin/bash
# nginx with examples/nginx-lua in front of upstream.mjs, as one process that ends on SIGTERM.
#
#   nginx.sh LIBRARY PORT FACILITATOR_URL COLLECTOR_URL
set -u
here=$(cd "$(dirname "$0")" && pwd)
example=$here/../../examples/nginx-lua
dir=$(mktemp -d)
mkfifo "$dir/port"
node "$here/upstream.mjs" "$3" > "$dir/port" &
upstream=$!
read -r upstream_port < "$dir/port"
sed "s,@LIBRARY@,$1,; s,@PORT@,$2,; s,@COLLECTOR@,$4,; s,@UPSTREAM@,127.0.0.1:$upstream_port,; s,@HERE@,$example,; s,@MODULES@,${NGINX_MODULES:-/usr/lib/nginx/modules}," \
  "$example/nginx.conf.in" > "$dir/nginx.conf"
# A cached answer of the system's own configuration must not matter: everything lies in a folder of its own.
nginx -p "$dir" -c "$dir/nginx.conf" -e stderr &
nginx=$!
code=
finish() { kill -QUIT "$nginx"; }
trap finish TERM
while [ -z "$code" ]; do wait "$nginx"; code=$?; kill -0 "$nginx" 2> /dev/null && code=; done
kill "$upstream"
rm -rf "$dir"
exit "$code"
