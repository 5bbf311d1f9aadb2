"""What Kubernetes is given: as far as that can be known without a cluster, it is understood and names things that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from feed_assets.api.app import create_app
from feed_assets.settings import PREFIX, Settings
from feed_assets.store import open_readers, open_store
from feed_assets_tests.conftest import make_settings
from feed_assets_tests.support.containers import ROOT, compose_file

FOLDER = ROOT / "deploy" / "kubernetes"
VALUES: dict[str, Any] = yaml.safe_load((FOLDER / "values.yaml").read_text("utf-8"))
DEPLOYMENT, SERVICE = yaml.safe_load_all((FOLDER / "api.yaml").read_text("utf-8"))
(API,) = DEPLOYMENT["spec"]["template"]["spec"]["containers"]
(CODE,) = VALUES["dagster-user-deployments"]["deployments"]
NOT_HERE = "NOT TESTED: dagster-k8s is not installed; pip install 'feed-assets[kubernetes]'"


def test_every_setting_exists() -> None:
    named = {each["name"] for each in API["env"]} | CODE["env"].keys() | VALUES["dagsterDaemon"]["env"].keys()

    assert {name.removeprefix(PREFIX).lower() for name in named} <= Settings.model_fields.keys() and len(named) > 5


def test_the_commands_are_those_of_the_containers_which_are_run_in_a_test() -> None:
    services = compose_file()["services"]
    code = shlex.split(services["code"]["command"])
    given = " ".join(CODE["dagsterApiGrpcArgs"])

    assert API["args"] == shlex.split(services["api"]["command"])
    assert given == f"-m {code[code.index('-m') + 1]} --location-name {code[code.index('--location-name') + 1]}"


def test_the_probes_and_metrics_are_where_kubernetes_looks_for_them(tmp_path: Path) -> None:
    settings = make_settings(tmp_path)
    open_store(settings.store_url).close()
    app = create_app(settings, open_readers(settings.store_url, memory_mb=64, most_articles=100))
    paths = {probe: API[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")}
    annotations = DEPLOYMENT["spec"]["template"]["metadata"]["annotations"]
    (port,) = API["ports"]

    assert paths == {"startupProbe": "/health/live", "livenessProbe": "/health/live", "readinessProbe": "/health/ready"}
    assert {*paths.values(), annotations["prometheus.io/path"]} <= app.openapi()["paths"].keys()
    assert {API[probe]["httpGet"]["port"] for probe in paths} == {port["name"]} == {SERVICE["spec"]["ports"][0]["targetPort"]}
    assert str(port["containerPort"]) == annotations["prometheus.io/port"] == API["args"][-1]


def test_the_service_finds_the_pods() -> None:
    assert SERVICE["spec"]["selector"].items() <= DEPLOYMENT["spec"]["template"]["metadata"]["labels"].items()
    assert DEPLOYMENT["spec"]["selector"]["matchLabels"] == DEPLOYMENT["spec"]["template"]["metadata"]["labels"]


def test_nothing_runs_as_root_or_without_a_limit() -> None:
    pods = [DEPLOYMENT["spec"]["template"]["spec"]["securityContext"]]
    pods += [each["podSecurityContext"] for each in (CODE, VALUES["dagsterDaemon"], VALUES["dagsterWebserver"])]
    (user,) = re.findall(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)

    assert all(pod["runAsNonRoot"] and pod["runAsUser"] == int(user) for pod in pods)
    limited = [API, CODE, VALUES["dagsterDaemon"], VALUES["dagsterWebserver"], run_config()["containerConfig"]]
    assert all("memory" in each["resources"]["limits"] for each in limited)


def test_the_chart_is_the_one_of_our_dagster() -> None:
    (chart,) = re.findall(r"--version (\S+)", (FOLDER / "values.yaml").read_text("utf-8"))

    assert f"dagster=={chart}" in (ROOT / "requirements.lock").read_text("utf-8").splitlines()


def test_kubernetes_knows_every_field_of_the_manifests() -> None:
    models = pytest.importorskip("dagster_k8s.models", reason=NOT_HERE)
    from kubernetes.client import V1Deployment, V1Service

    for kind, document in ((V1Deployment, DEPLOYMENT), (V1Service, SERVICE)):
        models.k8s_model_from_dict(kind, models.k8s_snake_case_dict(kind, document))
    with pytest.raises(Exception, match="liveProbe"):
        models.k8s_snake_case_dict(V1Deployment, {"spec": {"template": {"spec": {"containers": [{"name": "a", "liveProbe": {}}]}}}})


def test_dagster_takes_the_instance_that_the_chart_makes_of_the_values(tmp_path: Path) -> None:
    pytest.importorskip("dagster_k8s", reason=NOT_HERE)
    from dagster_k8s import K8sRunLauncher

    cluster = {"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}], "users": [{"name": "u", "user": {}}]}
    cluster |= {"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **cluster}))
    launcher = {
        "load_incluster_config": False,  # there is none
        "kubeconfig_file": str(tmp_path / "kubeconfig"),
        "image_pull_policy": VALUES["runLauncher"]["config"]["k8sRunLauncher"]["imagePullPolicy"],
        "run_k8s_config": {snake(name): value for name, value in run_config().items()},
        **{"service_account_name": "dagster", "instance_config_map": "dagster-instance", "dagster_home": str(tmp_path)},
    }
    queue = VALUES["dagsterDaemon"]["runCoordinator"]
    document = VALUES["additionalInstanceConfig"] | {
        "run_launcher": {"module": "dagster_k8s", "class": VALUES["runLauncher"]["type"], "config": launcher},
        "run_coordinator": {
            "module": "dagster.core.run_coordinator",
            "class": queue["type"],
            "config": {snake(name): value for name, value in queue["config"]["queuedRunCoordinator"].items()},
        },
    }
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(document))
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert isinstance(instance.run_launcher, K8sRunLauncher)
        queue_config = instance.get_concurrency_config().run_queue_config
        assert queue_config is not None and queue_config.max_concurrent_runs > int(CODE["env"]["FEED_ASSETS_MAX_BATCHES_IN_FLIGHT"])
        assert instance.run_monitoring_enabled and not instance.nux_enabled
    assert document["run_monitoring"]["free_slots_after_run_end_seconds"] > 0


def run_config() -> dict[str, Any]:
    found: dict[str, Any] = VALUES["runLauncher"]["config"]["k8sRunLauncher"]["runK8sConfig"]
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
