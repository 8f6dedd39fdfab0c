"""The files to copy under ``deploy``: what can be checked of them without a container or a cluster.

Every command of ours in them is read by the command itself, every property is one of Kafka's, versions are the
project's, topics are the pipeline's, and a cluster of three keeps two copies of all that exactly-once needs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pyspark
import pytest
import yaml

from oncelog.cli.main import command
from oncelog.settings.kafka_properties import broker_properties
from oncelog.spark.pipeline.file import load_pipelines
from tests.integration.release.test_image import HADOLINT, ROOT
from tests.support.apache_kafka import KAFKA_VERSION

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
MANIFESTS = [
    manifest
    for name in ("kafka", "pipeline", "spark")
    for manifest in yaml.safe_load_all((DEPLOY / "kubernetes" / f"{name}.yaml").read_text())
]
THREE = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}
STRIMZIS_KAFKA = "4.3.1"
"""The newest release that Strimzi 1.2 runs."""
PIPELINE_IMAGE = f"oncelog-pipeline:{version('oncelog')}"


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [manifest for manifest in MANIFESTS if manifest["kind"] == kind]


def our_commands() -> Iterator[list[str]]:
    for service in COMPOSE["services"].values():
        if service["image"] == PIPELINE_IMAGE and "entrypoint" not in service:
            yield service["command"]
    for deployment in of_kind("Deployment"):
        yield from (container["args"] for container in deployment["spec"]["template"]["spec"]["containers"])
    yield from (application["spec"]["arguments"] for application in of_kind("SparkApplication"))
    (given,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "pipeline" / "Dockerfile").read_text(), re.MULTILINE)
    yield json.loads(given)


@pytest.mark.parametrize("words", [pytest.param(words, id=" ".join(words[:3])) for words in our_commands()])
def test_every_command_in_the_manifests_exists(words: list[str]) -> None:
    """The command accepts their names and options, and the files of the image they name; nothing is run."""
    given = [
        str(ROOT / "examples" / word.removeprefix("/pipelines/")) if "/pipelines/" in word else word for word in words
    ]
    group: click.Command = command
    context = click.Context(group)
    while isinstance(group, click.Group):
        found = group.get_command(context, given[0])
        assert found is not None, given[0]
        group, given = found, given[1:]
    group.make_context(group.name, given)


def kafka_environments() -> Iterator[dict[str, str]]:
    for name, service in COMPOSE["services"].items():
        if name.startswith("kafka-"):
            yield service["environment"]


def test_every_kafka_property_in_the_manifests_exists() -> None:
    known = broker_properties()
    for environment in kafka_environments():
        given = {
            name.removeprefix("KAFKA_").replace("_", ".").lower(): value
            for name, value in environment.items()
            if name.startswith("KAFKA_")
        }
        assert given.keys() <= known.keys()
        for name, value in given.items():
            known[name].parse(value)
        assert given.items() >= THREE.items()
    (kafka,) = of_kind("Kafka")
    config = {name: str(value).lower() for name, value in kafka["spec"]["kafka"]["config"].items()}
    assert config.keys() <= known.keys()
    assert config.items() >= THREE.items()


def test_the_nodes_of_the_manifest_are_each_others_voters() -> None:
    environments = list(kafka_environments())
    ids = {environment["KAFKA_NODE_ID"] for environment in environments}
    voters = {environment["KAFKA_CONTROLLER_QUORUM_VOTERS"] for environment in environments}
    assert (len(ids), len(voters)) == (3, 1)
    assert {voter.partition("@")[0] for voter in voters.pop().split(",")} == ids
    for number in ids:
        service = COMPOSE["services"][f"kafka-{number}"]["environment"]
        assert service["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://kafka-{number}:9092"


def test_versions_in_the_manifests_are_the_projects() -> None:
    images = {service["image"] for service in COMPOSE["services"].values()}
    assert images == {f"apache/kafka:{KAFKA_VERSION}", PIPELINE_IMAGE}
    assert of_kind("Kafka")[0]["spec"]["kafka"]["version"] == STRIMZIS_KAFKA
    (container,) = of_kind("Deployment")[0]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == PIPELINE_IMAGE
    (application,) = of_kind("SparkApplication")
    assert application["spec"]["image"] == PIPELINE_IMAGE
    assert application["spec"]["sparkVersion"] == version("pyspark")
    assert f"pyspark=={version('pyspark')}" in (DEPLOY / "pipeline" / "Dockerfile").read_text()


def test_the_topics_are_those_of_the_pipeline() -> None:
    (pipeline,) = load_pipelines(ROOT / "examples" / "late_flights.toml")
    text = (ROOT / "examples" / "late_flights.toml").read_text()
    topics = set(re.findall(r'^topic = "(.*)"', text, re.MULTILINE))
    assert pipeline.name == "late-flights"
    assert {topic["metadata"]["name"] for topic in of_kind("KafkaTopic")} == topics
    assert topics <= set(COMPOSE["services"]["topics"]["command"])


def test_services_and_volumes_to_which_the_manifests_refer_exist() -> None:
    services, volumes = COMPOSE["services"], COMPOSE["volumes"]
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= volumes.keys()
    modes = {
        claim["metadata"]["name"]: tuple(claim["spec"]["accessModes"]) for claim in of_kind("PersistentVolumeClaim")
    }
    used = [of_kind("Deployment")[0]["spec"]["template"]["spec"], of_kind("SparkApplication")[0]["spec"]]
    found = [volume["persistentVolumeClaim"]["claimName"] for pods in used for volume in pods["volumes"]]
    assert [modes.pop(name) for name in found] == [("ReadWriteOnce",), ("ReadWriteMany",)]
    assert not modes


def test_driver_and_executors_reach_the_checkpoint_and_the_driver_may_make_pods() -> None:
    spec = of_kind("SparkApplication")[0]["spec"]
    checkpoint = spec["arguments"][spec["arguments"].index("--checkpoint") + 1]
    for pods in (spec["driver"], spec["executor"]):
        (mount,) = pods["volumeMounts"]
        assert mount["name"] in {volume["name"] for volume in spec["volumes"]}
        assert checkpoint.startswith(f"{mount['mountPath']}/")
    account, role, binding = (of_kind(kind)[0] for kind in ("ServiceAccount", "Role", "RoleBinding"))
    assert spec["driver"]["serviceAccount"] == account["metadata"]["name"] == binding["subjects"][0]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert {"create", "delete"} <= set(role["rules"][0]["verbs"])


def test_files_copied_into_the_image_exist_and_are_not_ignored() -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    text = (DEPLOY / "pipeline" / "Dockerfile").read_text()
    sources = [
        source
        for line in re.findall(r"^COPY (?:--chmod=\d+ )?((?!--).*)$", text, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert "examples" in sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert let_through & {source, *map(str, Path(source).parents)}, f".dockerignore keeps {source} away"
    main = of_kind("SparkApplication")[0]["spec"]["mainApplicationFile"]
    assert f"deploy/pipeline/{main.removeprefix('local:///opt/oncelog/')}" in sources


def entered(folder: Path, words: list[str], **environment: str) -> list[str]:
    """The program that the image's entry point becomes for these words, and its arguments."""
    for name in ("spark-submit", "java", "oncelog"):
        (folder / name).write_text('#!/bin/sh\nprintf "%s\\n" "${0##*/}" "$@"\n')
        (folder / name).chmod(0o755)
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python").chmod(0o755)
    entry = DEPLOY / "pipeline" / "entrypoint.sh"
    path = f"{folder}:/usr/bin:/bin"
    ended = subprocess.run(
        ["bash", entry, *words], env={"PATH": path, **environment}, capture_output=True, text=True, check=True
    )
    return ended.stdout.splitlines()


def test_the_image_runs_a_driver_with_the_arguments_that_spark_passes(tmp_path: Path) -> None:
    """The words are those that Spark passes to a driver's container on Kubernetes."""
    given = ["--properties-file", "/opt/spark/conf/spark.properties", "local:///opt/oncelog/main.py", "two words"]
    reported = entered(tmp_path, ["driver", *given], SPARK_DRIVER_BIND_ADDRESS="10.0.0.7")
    assert reported[:3] == ["spark-submit", "--deploy-mode", "client"]
    assert "spark.driver.bindAddress=10.0.0.7" in reported
    assert reported[-4:] == given


def test_the_image_runs_an_executor_with_the_arguments_that_spark_passes(tmp_path: Path) -> None:
    """The variables are those that Spark passes to an executor's container on Kubernetes."""
    reported = entered(
        tmp_path,
        ["executor"],
        **{f"SPARK_JAVA_OPT_{number}": f"-Dnumber={number} of 11" for number in range(11)},
        SPARK_EXECUTOR_MEMORY="2g",
        SPARK_DRIVER_URL="spark://driver:7078",
        SPARK_EXECUTOR_ID="3",
        SPARK_EXECUTOR_CORES="1",
        SPARK_APPLICATION_ID="spark-1",
        SPARK_EXECUTOR_POD_IP="10.0.0.8",
        SPARK_EXECUTOR_POD_NAME="late-3",
        SPARK_RESOURCE_PROFILE_ID="0",
        SPARK_CONF_DIR="/opt/spark/conf",
    )
    assert reported[:12] == ["java", *(f"-Dnumber={number} of 11" for number in range(11))]
    assert reported[12:15] == ["-Xms2g", "-Xmx2g", "-cp"]
    assert reported[15] == f"/opt/spark/conf:{Path(pyspark.__file__).parent}/jars/*"
    assert dict(zip(reported[17::2], reported[18::2], strict=True)) == {
        "--driver-url": "spark://driver:7078",
        "--executor-id": "3",
        "--cores": "1",
        "--app-id": "spark-1",
        "--hostname": "10.0.0.8",
        "--resourceProfileId": "0",
        "--podName": "late-3",
    }


def test_the_image_runs_oncelog_with_any_other_arguments(tmp_path: Path) -> None:
    assert entered(tmp_path, ["topics", "list"]) == ["oncelog", "topics", "list"]


@pytest.mark.skipif(not HADOLINT.exists(), reason="hadolint has no wheel for this system")
def test_the_pipeline_s_dockerfile_has_no_finding() -> None:
    file = DEPLOY / "pipeline" / "Dockerfile"
    ended = subprocess.run([HADOLINT, "--format", "json", file], capture_output=True, text=True, check=False)
    assert json.loads(ended.stdout) == []
