"""Finds names in the documentation that do not exist: files, tests, commands, options, keys,
variables."""

import json
import re
import subprocess
import sys
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any, Iterator

import archive
import dashboard
import kiosk
from daemon import ROOT, built

FENCE = re.compile(r"^```(?:\w*)\n(.*?)^```$", re.M | re.S)
SPAN = re.compile(r"(`+)(.+?)\1", re.S)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
PATH = re.compile(r"(?<![\w/.~-])(?:Sources|Tests|config|deploy|\.ci)(?:/[\w.+-]+)+")
FOLDERS = ["Sources", "Tests", "config", "deploy", ".ci"]
# The names that test_pages.py invents must not count as existing.
OWN_TEST = "Tests/Shared/EndToEnd/test_pages.py"
# Options of other programs.
OTHERS = {"--no-block", "--no-install-recommends"}
PROGRAMS = {
    "juice-kiosk": kiosk.program, "juice-dashboard": dashboard.program,
    "juice-archive": archive.program, "juice-zvt": partial(built, "juice-zvt"),
}
# Names of tests, types, alerts and metrics.
NAME = re.compile(r"(\w*[a-z][A-Z]){2}\w+|Kiosk[A-Z]\w+|juice_kiosk_\w+")
# A command at the start of a line or after a prefix, with its arguments.
COMMAND = re.compile(
    r"(?:^|(?:&&|\||;|--|\$\(|sudo|python3) *)(?:\w+=\S+ +)*\S*?"
    r"(juice-kiosk|juice-dashboard|juice-archive|juice-zvt|(?:deploy|Tests)/[\w./-]+)(?= |$)([^|;&)#\n]*)", re.M)


@cache
def files() -> dict[str, str]:
    """Returns the text of all files of the project except Markdown, by path."""
    paths = [ROOT / "Package.swift", *(each for top in FOLDERS for each in (ROOT / top).rglob("*"))]
    texts = {f"{path.relative_to(ROOT)}": path for path in paths if path.is_file()}
    return {
        name: path.read_text(errors="replace") for name, path in texts.items()
        if path.suffix not in (".md", ".pyc") and name != OWN_TEST
    }


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(path for each in FOLDERS for path in (ROOT / each).rglob("*.md"))]


def complaints(page: Path, text: str) -> Iterator[str]:
    """Yields one line for each name in a page that does not exist."""
    code = FENCE.findall(text)
    spans = [" ".join(span.split()) for _, span in SPAN.findall(FENCE.sub("", text))]
    yield from wrong_links(page, text)
    for name in PATH.findall(text):
        if not (ROOT / name).exists():
            yield f"there is no {name}"
    for name in spans:
        if re.fullmatch(r"[\w+.-]+\.(py|swift|c|sh)", name) and name not in names_of_files():
            yield f"there is no file {name}"
        if NAME.fullmatch(name) and not is_word(name):
            yield f"nothing is called {name}"
        if (key := re.match(r"(\w+)\.(\w+)\b(?!\.)", name)) and not is_key(*key.groups()):
            yield f"there is no key {key[0]}"
        if name.startswith("--") and not is_option(name.split()[0]):
            yield f"nothing has the option {name}"
    for variable in set(re.findall(r"\b(?:KIOSK|DASHBOARD|ARCHIVE|FUZZ)_[A-Z_]+\b", text)):
        if not is_variable(variable):
            yield f"nothing reads {variable}"
    for piece in [*spans, *(block.replace("\\\n", "") for block in code)]:
        yield from wrong_tests(piece)
        for program, arguments in COMMAND.findall(re.sub(r"^\$ ", "", piece, flags=re.M)):
            yield from wrong_arguments(program, arguments.split())


# MARK: Files

@cache
def names_of_files() -> set[str]:
    return {name.rpartition("/")[2] for name in [*files(), OWN_TEST]}


@cache
def is_word(name: str) -> bool:
    return any(re.search(rf"\b{name}\b", text) for text in files().values())


def wrong_links(page: Path, text: str) -> Iterator[str]:
    for target, anchor in LINK.findall(FENCE.sub("", text)):
        if "://" in target:
            continue
        path = page.parent / target if target else page
        if not path.exists():
            yield f"there is no {target}"
        elif anchor and anchor not in anchors(path.read_text()):
            yield f"{path.name} has no section #{anchor}"


def anchors(text: str) -> set[str]:
    """Returns the anchors that GitHub generates from headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


# MARK: Keys and variables

@cache
def keys() -> dict[str, set[str]]:
    """Returns the keys of the configurations by section; each file has all keys, some behind a '#'.
    """
    found: dict[str, set[str]] = {}
    for name in ("config/kiosk.yaml", "config/dashboard.yaml", "config/archive.yaml", "config/zvt.yaml"):
        section = ""
        for line in files()[name].splitlines():
            if key := re.match(r"#?(\w+):", line):
                section = key[1]
            elif key := re.match(r" +(?:- )?#?(\w+):", line):
                found.setdefault(section, set()).add(key[1])
    return found


def is_key(section: str, key: str) -> bool:
    """Returns whether a name is a key, or a file name that begins like one."""
    return section not in keys() or key in keys()[section] | {"conf", "sqlite", "yaml"}


def is_variable(name: str) -> bool:
    sections = {f"KIOSK_{section}_{key}".upper() for section in keys() for key in keys()[section]}
    return name in sections or is_word(name)


# MARK: Commands

@cache
def manual(program: str) -> dict[str, Any]:
    dumped = subprocess.run(
        [PROGRAMS[program](), "--experimental-dump-help"], check=True, text=True, stdout=subprocess.PIPE)
    return json.loads(dumped.stdout)["command"]


def options(command: dict[str, Any]) -> set[str]:
    names = [name for each in command.get("arguments", []) for name in each.get("names", [])]
    return {("--" if name["kind"] == "long" else "-") + name["name"] for name in names}


def commands(command: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield command
    for each in command.get("subcommands", []):
        yield from commands(each)


def script(path: str) -> str:
    """Returns the text of a script, and of the scripts to which it passes its arguments."""
    text = files().get(path, "")
    handed = re.findall(r'(?:\$root/)?([\w./-]+)"? "(?:\$@|\$\{@:2\})"', text)
    return text + "".join(files().get(each, "") for each in handed if each != path)


def is_option(name: str) -> bool:
    of_programs = (options(each) for program in PROGRAMS
                   for each in commands(manual(program)))
    scripts = (text for path, text in files().items()
               if path.startswith(("deploy/", "Tests/Kiosk/Benchmarks/")))
    return (name in OTHERS or any(name in each for each in of_programs)
            or any(re.search(rf"(?<![\w-]){name}(?![\w-])", text) for text in scripts))


def wrong_arguments(program: str, arguments: list[str]) -> Iterator[str]:
    given = [each.split("=")[0] for each in arguments if re.match("--[a-z]", each)]
    if "/" in program:
        for option in given:
            if not re.search(rf"(?<![\w-]){option}\b", script(program)):
                yield f"{program} has no option {option}"
        return
    command = manual(program)
    for word in takewhile(lambda word: re.fullmatch("[a-z]+", word), arguments):
        known = {each["commandName"]: each for each in command.get("subcommands", [])}
        if not known:
            break
        if word not in known:
            yield f"{command['commandName']} has no command {word}"
            return
        command = known[word]
    for option in given:
        if option not in options(command):
            yield f"{program} {command['commandName']} has no option {option}"


# MARK: Tests

@cache
def collected() -> list[str]:
    """Returns the ids of the integration tests, as pytest prints them."""
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "Tests"], cwd=ROOT,
        text=True, stdout=subprocess.PIPE).stdout
    tests = [line.rpartition("/")[2] for line in listed.splitlines() if "::" in line]
    return [test for test in tests if not test.startswith(Path(OWN_TEST).name)]


def wrong_tests(piece: str) -> Iterator[str]:
    for name in re.findall(r"\b(test_\w+\.py::\w+)", piece):
        if not any(test.split("[")[0] == name for test in collected()):
            yield f"there is no test {name}"
    for name in re.findall(r"swift test .*?--filter (\w+)", piece):
        if not any(name in text for text in files().values()):
            yield f"there is no test {name}"
    for quoted, bare in re.findall(r"-k (?:\"([^\"]+)\"|(\S+))", piece):
        if not any(is_chosen(test, quoted or bare) for test in collected()):
            yield f"no test is chosen by -k {quoted or bare}"


def is_chosen(test: str, expression: str) -> bool:
    """Returns whether `pytest -k` would choose a test: words are parts of names."""
    def is_part(word: re.Match) -> str:
        return word[0] if word[0] in ("and", "or", "not") else str(word[0].lower() in test.lower())

    return bool(eval(re.sub(r"[\w.\-]+", is_part, expression)))
