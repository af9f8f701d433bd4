"""Runs the commands of the README.

Each fenced block marked `sh` is run, from top to bottom, in a separate shell, in a copy of the
project that contains only the built programs, and must succeed. What keeps running runs as in another
terminal of the reader: `deploy/run`, of which a later one replaces an earlier one, and the card terminal
`juice-kiosk payment`. `deploy/test` is what runs this. In a block marked `console`, lines after
`$ ` are commands, and the others their output, where `...` stands for anything. Other blocks are
not run.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IN_ANOTHER_TERMINAL = re.compile(r"(deploy/run|\S*juice-kiosk payment)\b")
THE_TESTS_THEMSELVES = "deploy/test"


@dataclass(frozen=True)
class Block:
    line: int
    script: str
    # The expected output, or None if any output is accepted.
    output: str | None
    # Commands that keep running, each in another terminal.
    windows: list[str]

    def printed(self, text: str) -> bool:
        if self.output is None:
            return True
        pattern = ".*".join(re.escape(part) for part in self.output.split("..."))
        return re.fullmatch(pattern, text, re.DOTALL) is not None


def blocks(readme: Path) -> list[Block]:
    text = readme.read_text()
    return [
        block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


def block(kind: str, body: str, line: int) -> Block:
    lines = body.splitlines()
    output = None
    if kind == "console":
        output = "".join(text + "\n" for text in lines if not text.startswith("$ "))
        lines = [text[2:] for text in lines if text.startswith("$ ")]
    commands = [text.split("#")[0].strip() for text in lines]
    windows = [command for command in commands if IN_ANOTHER_TERMINAL.match(command)]
    left = {*windows, THE_TESTS_THEMSELVES}
    script = [text for text, command in zip(lines, commands) if command not in left]
    return Block(line, "\n".join(script), output, windows)
