#!/bin/bash
# What the image runs: with the words that Spark gives its pods on Kubernetes, a driver or an executor; else oncelog.
set -euo pipefail

case "${1:-}" in
driver)
    shift
    exec spark-submit --deploy-mode client \
        --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
        --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" \
        "$@"
    ;;
executor)
    # each of Spark's options for Java is a variable of its own, numbered from 0
    options=()
    while name="SPARK_JAVA_OPT_${#options[@]}" && [[ -n "${!name-}" ]]; do
        options+=("${!name}")
    done
    home=$(python -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
    exec java ${options[@]+"${options[@]}"} "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
        -cp "${SPARK_CONF_DIR:+$SPARK_CONF_DIR:}${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$home/jars/*" \
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
        --driver-url "$SPARK_DRIVER_URL" \
        --executor-id "$SPARK_EXECUTOR_ID" \
        --cores "$SPARK_EXECUTOR_CORES" \
        --app-id "$SPARK_APPLICATION_ID" \
        --hostname "$SPARK_EXECUTOR_POD_IP" \
        --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
        --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
*)
    exec oncelog "$@"
    ;;
esac
