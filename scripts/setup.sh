#!/bin/sh
# Installs the Debian packages that the tests need, if they are missing. Needs root.
set -eu
packages="build-essential pkg-config valgrind libjansson-dev libmicrohttpd-dev nlohmann-json3-dev nginx-light libnginx-mod-http-lua wrk cmake curl
python3-venv uwsgi-core uwsgi-plugin-python3 postgresql chromium"
missing=
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
