#!/bin/sh
# The part of .ci/run that needs neither Java nor Apache Kafka: install the package as a user would and run the unit tests,
# once with the compiled module if it could be built and once without.
set -eu
cd "$(dirname "$0")/.."
if python -c 'import sys; sys.exit(getattr(sys, "_is_gil_enabled", lambda: True)())'; then
    # A free-threaded Python: some of the packages that tests compare with have no wheels for it.
    packages="--editable .[aws] pytest pytest-timeout pytest-xdist hypothesis psutil lz4>=4.3 zstandard python-snappy xxhash pyyaml"
    without="spark demo console cli/programs/test_pipeline.py broker/test_benchmarked.py server/security/test_tls.py test_tidy.py test_layers.py test_shape.py
        client/aio/producer/test_late_batches.py client/aio/producer/test_memory_waits.py records/test_record_arrow.py
        records/test_record_batch.py records/test_record_native.py"
else
    packages="--editable .[dev]"
    without=
fi
ignored=
for name in $without; do
    ignored="$ignored --ignore tests/unit/$name"
done
# shellcheck disable=SC2086 # words apart
python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt $packages
python -c 'from oncelog.records import native; print("compiled module:", native)'
# A module that has not declared that it runs without the lock switches it on again, with a warning, for a whole program.
python -W error -c '
import sys, sysconfig, oncelog.client.aio, oncelog.embedded, oncelog.records.compression
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
assert not free or not sys._is_gil_enabled(), "the lock is on"
'
for pure in "" 1; do
    # shellcheck disable=SC2086
    ONCELOG_PURE=$pure python -m pytest tests/unit -q -n auto $ignored
done
