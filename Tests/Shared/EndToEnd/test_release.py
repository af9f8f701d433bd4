"""The notes of a release, and which builds a warning ends."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
VERSION = re.search(r'version = "(.*)"', (ROOT / "Sources/Shared/CommandLineSupport/Release.swift").read_text())[1]


def release_notes(tag: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "deploy/release-notes", tag, folder], text=True,
                          capture_output=True)


def test_the_notes_are_the_changelogs_and_each_package_has_its_checksum(tmp_path):
    names = [f"juice-{program}_{VERSION}_{machine}.deb"
             for program in ("kiosk", "dashboard", "archive", "zvt") for machine in ("amd64", "arm64")]
    for name in names:
        (tmp_path / name).write_text(name)
    notes = release_notes(f"v{VERSION}", tmp_path)
    assert notes.returncode == 0, notes.stderr
    assert notes.stdout.strip() and "## " not in notes.stdout
    checked = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, text=True,
                             capture_output=True)
    assert sorted(checked.stdout.splitlines()) == sorted(f"{name}: OK" for name in names)


def test_a_release_without_notes_or_a_package_is_refused(tmp_path):
    assert release_notes("v99.0.0", tmp_path).returncode == 66
    assert release_notes(f"v{VERSION}", tmp_path).returncode == 66


@pytest.mark.skipif(not shutil.which("swift"), reason="there is no Swift here")
def test_a_warning_ends_the_build_of_a_check_and_of_nobody_else(tmp_path):
    """A new compiler or header may warn of what compiled before."""
    def strict(**variables: str) -> tuple[set[str], set[str]]:
        kept = {name: value for name, value in os.environ.items() if name != "KIOSK_WARNINGS"}
        dump = subprocess.run(["swift", "package", "--package-path", ROOT, "--scratch-path", tmp_path, "dump-package"],
                              env=kept | variables, text=True, capture_output=True, check=True)
        targets = [target for target in json.loads(dump.stdout)["targets"] if target["type"] != "system"]
        return {target["name"] for target in targets}, {
            target["name"] for target in targets
            if {"treatAllWarnings": {"_0": "error"}} in [setting["kind"] for setting in target["settings"]]}

    # The setting is one of Swift's, and this target is C++.
    targets, of_a_user = (names - {"CTimeZone"} for names in strict())
    assert len(targets) > 40 and of_a_user == set()
    assert strict(KIOSK_WARNINGS="error") == (targets | {"CTimeZone"}, targets)
    scripts = {path.name for path in (ROOT / "deploy").iterdir()
               if path.is_file() and "export KIOSK_WARNINGS=error" in path.read_text()}
    assert scripts == {"check", "test"}
