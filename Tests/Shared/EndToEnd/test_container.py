"""deploy/container without a container engine: the files, and their steps run manually."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator

import pytest
import yaml

import handbook
from arrivals import eventually
from kiosk import ROOT
from machine import Machine, needs_packages, packages
from web_client import WebClient

FOLDER = ROOT / "deploy/container"


class Container:
    """A minimal Debian after the steps of one stage of the Dockerfile, with a broker."""

    def __init__(self, machine: Machine, stage: str) -> None:
        self.machine = machine
        (machine.root / "packages").mkdir()
        for package in packages():
            shutil.copy(package, machine.root / "packages")
        machine.boot()
        machine.shell("apt-get install -y --no-install-recommends mosquitto mosquitto-clients")
        parts: dict[str, str] = {}
        for name, text in instructions(stage):
            parts[name] = text
            if name == "RUN":
                # There is no network; the packages that apt would download are installed.
                script = re.sub(r"^--mount=\S+ ", "", text).replace("apt-get update && ", "")
                machine.shell(script)
        # A container does not start services.
        program = Path(yaml.safe_load(parts["ENTRYPOINT"])[0]).name
        machine.shell(f"systemctl disable --now {program}; rm -rf /var/lib/{program}/*")
        settings = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"][stage]
        assert settings["build"]["target"] == stage
        # The broker's name in the containers' network.
        host = settings["environment"]["KIOSK_BROKER_HOST"]
        machine.shell(f"echo 127.0.0.1 {host} >>/etc/hosts")
        variables = settings["environment"] | dict(
            [parts["ENV"].split("=")] if "ENV" in parts else []
        )
        self.check = parts["HEALTHCHECK"].split(" CMD ")[1]
        self.user = f"runuser -u {parts['USER']} -- env " + " ".join(
            f"{name}={value}" for name, value in variables.items()
        )
        self.entry = " ".join(yaml.safe_load(parts["ENTRYPOINT"]))
        self.command = yaml.safe_load(parts["CMD"])[0]

    def start(self) -> None:
        assert not self.is_healthy()
        self.machine.shell(
            f"setsid {self.user} {self.entry} {self.command} </dev/null >/root/log 2>&1 &"
        )
        eventually(self.is_healthy)

    def is_healthy(self) -> bool:
        return self.machine.run("sh", "-c", self.check).returncode == 0

    def shell(self, command: str) -> str:
        return self.machine.shell(f"{self.user} {command}")


def instructions(stage: str) -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (FOLDER / "Dockerfile").read_text(), flags=re.M)
    lines = [line.split(maxsplit=1) for line in text.replace("\\\n", " ").splitlines() if line]
    starts = [index for index, line in enumerate(lines) if line[0] == "FROM"] + [len(lines)]
    first = next(index for index in starts if lines[index][1].endswith(f" AS {stage}"))
    last = next(index for index in starts if index > first)
    # As written, except for the indentation of continued lines.
    return [(name, re.sub(r"\s{2,}", " ", rest)) for name, rest in lines[first:last]]


@pytest.fixture
def make_container(debian: Path, tmp_path: Path) -> Iterator[Callable[[str], Container]]:
    machine = Machine(tmp_path, debian)
    yield lambda stage: Container(machine, stage)
    machine.close()


@needs_packages
def test_the_steps_make_a_kiosk_that_tells_its_health(
    make_container: Callable[[str], Container]
) -> None:
    container = make_container("kiosk")
    container.start()
    # A kiosk is healthy before it has connected.
    status = ["mosquitto_sub", "-W", "5", "-C", "1", "-t", "kiosk/k1/status"]
    eventually(lambda: container.machine.run(*status).stdout == "online\n")
    container.machine.shell("juice-kiosk order kiwi")
    container.shell(f"{container.entry} order kiwi")


@needs_packages
def test_the_dashboard_serves_pages(make_container: Callable[[str], Container]) -> None:
    container = make_container("dashboard")
    container.start()
    (block,) = handbook.run_by("test_the_dashboard_serves_pages")
    inside = block.script.replace("\\\n", " ").split(" exec dashboard ")[1]
    password = container.shell(inside).strip()
    with container.machine.network():
        web_client = WebClient(8080)
        web_client.log_in("minji", password)
        web_client.close()


def test_compose_is_valid() -> None:
    (block,) = handbook.run_by("test_compose_is_valid")
    file = ROOT / shlex.split(block.script)[3]
    text = file.read_text()
    assert " ".join(block.script.split()) in text
    composed = yaml.safe_load(text)
    for service in composed["services"].values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in composed["volumes"] or (file.parent / source).exists()
        if "build" in service:
            assert instructions(service["build"]["target"])
    if sys.platform == "linux":
        # Version 1, as in Debian 12, takes the name from another source.
        subprocess.run(
            ["docker-compose", "-f", "-", "--project-directory", file.parent, "config", "--quiet"],
            input=re.sub(r"^name: .*\n", "", text, flags=re.M), check=True, text=True,
            cwd=file.parent,
        )
