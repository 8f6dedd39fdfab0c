#!/bin/sh
# setup.sh install   .venv with the package, editable, and all that development needs, in the versions of constraints.txt
# setup.sh java      Java 17 or later for Spark and Apache Kafka; installs Debian's where it may
# setup.sh databases PostgreSQL and PgBouncer for the tests of tables; installs Debian's where it may
# setup.sh browser   Chromium for the tests of the console; installs Debian's where it may, else they are skipped
# setup.sh next      what to type when all of this is done
set -eu
cd "$(dirname "$0")/.."

suits() { # is $1 a Python that can hold the environment?
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    for name in ${PYTHON_FOR_SETUP:-} python3 python3.13 python3.12 python3.11 python3.14 python; do
        if command -v "$name" >/dev/null 2>&1 && suits "$name"; then
            echo "$name"
            return
        fi
    done
    echo "make setup: no Python 3.11 or later with the module venv was found; install one" \
        "(Debian: apt-get install python3 python3-venv; macOS: brew install python@3.13)" \
        "or name it: PYTHON_FOR_SETUP=/path/to/python make setup" >&2
    exit 1
}

python_packages() {
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$@"
}

install() {
    if ! { [ -x .venv/bin/python ] && suits .venv/bin/python; }; then
        python=$(find_python)
        echo "make setup: .venv with $("$python" --version)"
        rm -rf .venv
        "$python" -m venv .venv
    fi
    echo "make setup: installing oncelog with its extras into .venv (some 500 MB the first time)"
    python_packages uv
    # uv takes a third of pip's time; an index that only pip is configured for is left to pip.
    .venv/bin/uv pip install --quiet --python .venv/bin/python --constraint constraints.txt --editable '.[dev]' || {
        echo "make setup: uv could not install them (see above); pip tries"
        python_packages --editable '.[dev]'
    }
    # An editable package is compiled at its first import, and at every one where Python may not keep the result.
    .venv/bin/python -m compileall -q src
}

java() {
    if .venv/bin/python -m oncelog.spark.java --quiet; then
        return
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "make setup: no Java 17 or later here; installing Debian's openjdk-17-jre-headless (or the default one)"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless >/dev/null 2>&1 ||
            apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null
    fi
    .venv/bin/python -m oncelog.spark.java
}

databases() {
    missing=
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || missing=postgresql
    [ -x /usr/sbin/pgbouncer ] || command -v pgbouncer >/dev/null 2>&1 || missing="$missing pgbouncer"
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "make setup: installing Debian's$(printf ' %s' $missing)"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        # shellcheck disable=SC2086
        apt-get install -y -qq --no-install-recommends $missing >/dev/null && return
    fi
    echo "make setup: no$(printf ' %s' $missing) here; tests of PostgreSQL's tables are skipped without postgresql," \
        "and those of a pooler fail without pgbouncer"
}

browser() {
    command -v chromium-headless-shell >/dev/null 2>&1 && return
    found=
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null 2>&1 && found=$name
    done
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        export DEBIAN_FRONTEND=noninteractive
        [ -n "$found" ] || apt-get update -qq
        # Chromium without windows is the quicker one by far; not every system has it by itself.
        for package in chromium-headless-shell ${found:-chromium}; do
            [ "$package" = "$found" ] && return
            apt-cache show "$package" >/dev/null 2>&1 || continue
            echo "make setup: installing Debian's $package"
            apt-get install -y -qq --no-remove --no-install-recommends "$package" >/dev/null 2>&1 && return
        done
    fi
    [ -n "$found" ] || echo "make setup: no Chromium here; the tests that need a browser are skipped"
}

case ${1:-} in
install) install ;;
java) java ;;
databases) databases ;;
browser) browser ;;
next)
    echo "make setup: done. Next: .venv/bin/oncelog serve --listen 127.0.0.1:9092, or make demo; make help lists the tasks"
    ;;
*)
    sed -n 2,5p "$0"
    exit 2
    ;;
esac
