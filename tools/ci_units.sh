#!/bin/sh
# The part of .ci/run that needs neither Java nor Spark: install the package as a user would and run the unit tests,
# once with the compiled module if it could be built and once without.
set -eu
cd "$(dirname "$0")/.."
python -m pip install --quiet --disable-pip-version-check --editable . \
    pytest pytest-timeout pytest-xdist hypothesis psutil kio 'lz4>=4.3' zstandard python-snappy xxhash pyyaml
python -c 'from oncelog.records import native; print("compiled module:", native)'
for pure in "" 1; do
    ONCELOG_PURE=$pure python -m pytest tests/unit -q -n auto --ignore tests/unit/spark --ignore tests/unit/demo
done
