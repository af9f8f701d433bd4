"""Measures the kiosk and its alternatives on this machine."""

import argparse
import json
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Shared/EndToEnd"))

import comparison  # noqa: E402
import floods  # noqa: E402
import growth  # noqa: E402
import page  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
import timeline  # noqa: E402
from contenders import CONTENDERS  # noqa: E402
from goals import Figure, Results, figures  # noqa: E402
from measure import Neighbours  # noqa: E402

# Sections that are printed but not written to the page.
PRINTED_ONLY = {"goals", "floods", "timeline"}
#: The text of each section by name, and the figures behind the texts.
Report = tuple[dict[str, str], dict]


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def check(options: argparse.Namespace, scratch: Path) -> Report:
    comparison.prove_judge(scratch, tell)
    proof = comparison.prove_order(scratch, tell)
    return {"proof": report.proof(proof)} if proof else {}, {"proof": proof}


def compare(options: argparse.Namespace, scratch: Path) -> Report:
    names = options.contender
    turns, seconds = (1, 2) if options.quick else (options.turns, options.seconds)
    sections, data = check(options, scratch) if "juice-kiosk" in names else ({}, {})
    neighbours = Neighbours()
    results = comparison.compare(names, scratch, tell, turns, options.orders, seconds)
    share = neighbours.share
    counted = [] if options.quick else comparison.count_calls(names, scratch, tell, 4000)
    survived = [] if options.quick else comparison.kill(names, scratch, tell, 6000)
    found = figures(Results(results), counted)
    machine = f"{report.machine(scratch)} {report.quiet(share)}"
    sections = {
        "machine": machine,
        "speeds": report.speeds(Results(results), names),
        "costs": report.costs(Results(results), names, counted, survived),
        "goals": report.reached(found),
    } | sections
    return sections, data | {
        "machine": machine, "others": share, "results": results, "calls": counted, "kills": survived,
        "figures": as_data(found),
    }


def grow(options: argparse.Namespace, scratch: Path) -> Report:
    # One connection for each panel.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    wanted = growth.sizes(100_000 if options.quick else options.entries)
    turns = 1 if options.quick else options.turns
    ledgers = options.ledgers or scratch
    ledgers.mkdir(exist_ok=True)
    memory = growth.make_ledgers(ledgers, wanted, tell)
    measured = growth.measure(ledgers, wanted, tell, turns)
    peripherals = growth.peripherals(scratch, tell, turns)
    found = growth.figures(measured, memory)
    tables = [growth.ledger_table(measured), growth.peripheral_table(peripherals)]
    return {"growth": "\n\n".join(tables), "goals": report.reached(found)}, {
        "memory": memory, "ledgers": measured, "peripherals": peripherals, "figures": as_data(found)
    }


def go_through_one_order(options: argparse.Namespace, scratch: Path) -> Report:
    stages = timeline.measure(scratch, min(options.orders, 5000))
    return {"timeline": timeline.stage_table(stages)}, {"stages": stages}


def flood(options: argparse.Namespace, scratch: Path) -> Report:
    rows = floods.measure(scratch, 1 if options.quick else options.turns)
    return {"floods": floods.flood_table(rows)}, {"floods": rows}


def as_data(found: list[Figure]) -> list[dict]:
    return [vars(figure) | {"value": figure.value, "is_reached": figure.is_reached}
            for figure in found]


def main() -> None:
    parser = argparse.ArgumentParser(prog="deploy/bench", description=__doc__)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--check", dest="run", action="store_const", const=check,
                      help="only that answers are right, and acknowledgements wait for the disk")
    kind.add_argument("--growth", dest="run", action="store_const", const=grow,
                      help="the kiosk with large ledgers, menus and peripherals")
    kind.add_argument("--timeline", dest="run", action="store_const", const=go_through_one_order,
                      help="where the time of one order goes")
    kind.add_argument("--flood", dest="run", action="store_const", const=flood,
                      help="how long panels wait beside one that floods the kiosk")
    parser.set_defaults(run=compare)
    parser.add_argument("--quick", action="store_true", help="one short turn")
    parser.add_argument("--contender", action="append", choices=CONTENDERS, metavar="NAME",
                        help=f"only this one; several times for several: {', '.join(CONTENDERS)}")
    parser.add_argument("--orders", type=int, default=20_000, metavar="N",
                        help="for each load; default 20000")
    parser.add_argument("--seconds", type=int, default=5, metavar="N",
                        help="and not longer than this for each load; default 5, 2 if quick")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="default 3")
    parser.add_argument("--entries", type=int, default=10_000_000, metavar="N",
                        help="of the largest ledger of --growth; default 10000000")
    parser.add_argument("--ledgers", type=Path, metavar="FOLDER",
                        help="where --growth keeps its ledgers for the next time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all figures, for programs")
    parser.add_argument("--page", action="store_true",
                        help=f"writes the tables into {page.PAGE.name}")
    options = parser.parse_args()
    usual = [name for name in CONTENDERS if name != "before" or "KIOSK_BEFORE" in os.environ]
    options.contender = options.contender or usual
    # Exits on SIGTERM, so that the exit handlers end the started processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    programs.build(with_go=options.run is compare and "go" in options.contender)
    with tempfile.TemporaryDirectory(prefix="juice-kiosk-bench-") as folder:
        sections, data = options.run(options, Path(folder))
    print("\n\n".join(sections.values()))
    if options.page:
        page.write({name: text for name, text in sections.items() if name not in PRINTED_ONLY})
    if options.json:
        options.json.write_text(json.dumps({"command": sys.argv[1:]} | data, indent=1) + "\n")


if __name__ == "__main__":
    main()
