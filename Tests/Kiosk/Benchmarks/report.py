"""Formats the figures as Markdown tables, which go into the page unchanged."""

import os
import platform
import re
import subprocess
from pathlib import Path
from statistics import median

import kills
from comparison import IN_FLIGHT, SYNC_MILLISECONDS
from goals import Figure, Results

TITLES = {
    "before": "the version before",
    "juice-kiosk": "juice-kiosk",
    "echo": "C echo without NODELAY",
    "echo-nodelay": "floor: C echo",
    "echo-events": "floor+event: C echo",
    "echo-disk": "floor+disk: C echo, SQLite",
    "python": "Python paho, sqlite3",
    "go": "Go paho, SQLite",
}


def table(head: list[str], rows: list[list[str]]) -> str:
    """Returns a table with aligned columns, so that it is readable in a terminal, too."""
    widths = [max(map(len, column)) for column in zip(head, *rows)]

    def line(cells: list[str]) -> str:
        first, *others = [cell.ljust(width) if not index else cell.rjust(width)
                          for index, (cell, width) in enumerate(zip(cells, widths))]
        return "| " + " | ".join([first, *others]) + " |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(head), line(rule), *map(line, rows)])


def middle(values: list[float], digits: int = 0) -> str:
    return f"{median(values):,.{digits}f}" if values else ""


def spread(values: list[float], digits: int = 0) -> str:
    """Returns the median with the range of the values."""
    if len(values) < 2:
        return middle(values, digits)
    return f"{middle(values, digits)} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"


def speeds(results: Results, names: list[str]) -> str:
    """Returns a table of orders per second by load, and one of times."""
    throughputs, times = [], []
    for name in [*names, *(f"{name}, slow disk" for name in names)]:
        # The echo with NODELAY represents both: it is usually the faster one.
        if not results.values(name, 64, "throughput") or (name == "echo" and "echo-nodelay" in names):
            continue
        title, *rest = name.split(", ")
        title = TITLES[title] + (f", each sync {SYNC_MILLISECONDS} ms slower" if rest else "")
        values = lambda in_flight, key: results.values(name, in_flight, key)
        throughputs.append([title, *(spread(values(load, "throughput")) for load in IN_FLIGHT)])
        times.append([
            title, *(middle(values(load, key)) for load in (1, 64) for key in ("p50", "p99")),
            middle(values(64, "cpu"), 1), middle(values(64, "cpu_broker"), 1),
        ])
    return "\n\n".join([
        table(["orders/s", *(f"{load} in flight" for load in IN_FLIGHT)], throughputs),
        table(["µs", "1 in flight: p50", "p99", "64 in flight: p50", "p99", "CPU", "broker"], times),
    ])


def costs(
    results: Results, names: list[str], counted: list[dict], survived: list[dict]
) -> str:
    rows = []
    for name in names:
        if name == "echo" and "echo-nodelay" in names:
            continue
        calls = next((c for c in counted if c["contender"] == name), None)
        after = next((s for s in survived if s["contender"] == name), None)
        size = results.values(name, 0, "bytes")
        rows.append([
            TITLES[name],
            middle([value / 2**20 for value in results.values(name, 0, "memory")], 1),
            f"{calls['calls']:.1f}" if calls else "", f"{calls['syncs']:.3f}" if calls else "",
            middle(size) if any(size) else "",
            *([f"{after[key]}" for key in ("lost", "doubled", "unanswered")] if after
              else ["", "", ""]),
        ])
    return table(
        ["", "peak MiB", "calls/order", "syncs/order", "bytes/order",
         f"{kills.KILLS} × kill -9: lost", "made twice", "unanswered"], rows,
    )


def reached(figures: list[Figure]) -> str:
    rows = []
    for figure in figures:
        sign = "at least" if figure.is_least else "at most"
        rows.append([
            figure.name, spread(figure.values, 2) + figure.unit,
            f"{sign} {figure.goal:g}{figure.unit}", "yes" if figure.is_reached else "no",
        ])
    return table(["figure", "here", "goal", "reached"], rows)


def proof(found: dict) -> str:
    return (f"The kiosk sent none of {found['acknowledged']} acknowledgements before the sync of its "
            f"order ({found['syncs']} syncs); floor+disk sent {found['naive_too_early']} of "
            f"{found['naive']} before it.")


def quiet(share: float) -> str:
    return f"Other programs used {share:.0%} of the processors."


def machine(scratch: Path) -> str:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    disk = first_line("findmnt", "-no", "SOURCE,FSTYPE", "-T", str(scratch))
    commit = first_line("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty")
    versions = ", ".join([
        f"mosquitto {version('mosquitto')}", f"libmosquitto {version('libmosquitto1')}",
        f"SQLite {version('libsqlite3-0')}", f"paho {version('python3-paho-mqtt')} (Python)",
        f"{version('golang-github-eclipse-paho.mqtt.golang-dev')} (Go)",
        f"Python {platform.python_version()}", f"Go {version('golang-go')}",
    ])
    return (f"On {os.cpu_count()} cores, {model[1] if model else platform.processor()}, "
            f"Linux {platform.release()}, {disk}; commit {commit};\n{versions}.")


def version(package: str) -> str:
    return first_line("dpkg-query", "-W", "-f", "${Version}\n", package)


def first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return "?"
    return " ".join((done.stdout.splitlines() or ["?"])[0].split())
