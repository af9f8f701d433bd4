"""Runs the operator's handbook (deploy/docs/operations.md).

Each block marked `sh` or `console` is run, from top to bottom, in one clean Debian with our
packages in /root (test_handbook.py). The commands of `sh` must succeed; those of `console`, after
`$ `, must print the lines that follow, where `...` stands for anything. A comment before a block,
which readers do not see, may say more:

    <!-- test: NAME -->                 test_handbook.py calls its function NAME with the machine here:
                                        to inject a fault or to check a result
    <!-- run by: FILE.py::TEST -->      that test runs the next block instead, with the commands from
                                        `handbook.run_by("TEST")`; for steps that need two machines

A command in the text must also be in a block. So a new section needs nothing but its text.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from kiosk import ROOT
from readme import Block, block

PAGE = ROOT / "deploy/docs/operations.md"
TESTS = Path(__file__).parents[2]
STEP = re.compile(
    r"^<!-- test: (?P<call>\w+) -->$"
    r"|^(?:<!-- run by: (?P<test>\S+) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
# The beginning of a command. A name alone is not a command; it names the program.
PROGRAMS = {
    "apt-get", "cp", "docker", "dpkg", "install", "journalctl", "juice-dashboard", "juice-kiosk",
    "mkdir", "mosquitto_pub", "mosquitto_sub", "rm", "runuser", "sed", "sudo", "systemctl",
}


@dataclass(frozen=True)
class Step:
    line: int
    # A function of test_handbook.py, or `None` for a block.
    call: str | None
    # The test that runs the block instead of test_handbook.py.
    test: str | None
    # `sh`, `console`, or another language, which is not run.
    kind: str
    block: Block

    @property
    def is_run(self) -> bool:
        return self.kind in ("sh", "console")


def steps(text: str) -> list[Step]:
    return [
        Step(line, found["call"], found["test"], found["kind"] or "",
             block(found["kind"] or "", found["body"] or "", line))
        for found in STEP.finditer(text)
        for line in [text.count("\n", 0, found.start()) + 1]
    ]


def run_by(test: str) -> list[Block]:
    """Returns the blocks that a test must run."""
    return [step.block for step in steps(PAGE.read_text())
            if step.test and step.test.endswith(f"::{test}")]


# MARK: Commands without a test

def complaints(text: str) -> list[str]:
    """Returns commands that no test runs, and named tests that do not run their block."""
    found = []
    run = "\n".join(step.block.script for step in steps(text) if step.is_run)
    for step in steps(text):
        if step.test and not takes_its_commands(step.test):
            found.append(f"line {step.line}: {step.test} does not run it")
        if not step.is_run and any(map(is_command, step.block.script.splitlines())):
            found.append(f"line {step.line}: a block with commands is marked sh or console")
    prose = STEP.sub("", text)
    for span in re.findall(r"`([^`]+)`", prose):
        span = " ".join(span.split())
        if is_command(span) and span not in " ".join(run.split()):
            found.append(f"no block has: {span}")
    return found


def is_command(line: str) -> bool:
    words = line.split()
    return len(words) > 1 and words[0] in PROGRAMS


def takes_its_commands(name: str) -> bool:
    file, _, test = name.partition("::")
    path = next(TESTS.glob(f"*/EndToEnd/{file}"), None)
    if not path:
        return False
    source = path.read_text()
    return any(
        isinstance(node, ast.FunctionDef) and node.name == test
        and f'run_by("{test}")' in (ast.get_source_segment(source, node) or "")
        for node in ast.parse(source).body
    )
