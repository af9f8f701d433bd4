"""A command run by root writes nothing as root into the folder of the kiosk's user."""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Iterator

import pytest

import dashboard
from arrivals import eventually
from conftest import MakeBroker, MakeKiosk
from kiosk import Kiosk, environment, one_line, program

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="NOT TESTED, only root can do something for another")

# Debian's nobody, and a user without a name.
THEM, OTHER = 65534, 54321
PARTS = ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "ledger.sqlite-journal",
         "ledger.sqlite.lock"]


def give(folder: Path, user: int = THEM) -> None:
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, user, user)


class Place:
    """A kiosk with its ledger in another user's folder, and files that only root may access."""

    def __init__(self, kiosk: Kiosk, theirs: Path) -> None:
        self.kiosk = kiosk
        self.theirs = theirs
        self.ledger = theirs / "ledger.sqlite"
        self.ours = kiosk.folder / "ours"
        self.ours.mkdir(mode=0o700)
        self.backup = self.ours / "backup.sqlite"
        self.victim = self.ours / "victim"

    def plant(self, name: str) -> None:
        """Creates a symbolic link in the user's folder to one of root's files."""
        link = self.theirs / name
        link.unlink(missing_ok=True)
        # A valid ledger, so that the program would accept it.
        shutil.copy(self.backup, self.victim)
        self.victim.chmod(0o600)
        if name != "ledger.sqlite":
            self.victim.write_bytes(b"root's own")
        link.symlink_to(self.victim)
        os.lchown(link, THEM, THEM)
        self.before = self.look()

    def look(self) -> tuple:
        status = self.victim.lstat()
        there = sorted(path.name for path in self.ours.iterdir())
        return there, self.victim.read_bytes(), status.st_uid, status.st_mode, status.st_mtime_ns

    def judge(self) -> None:
        """Checks that root's files are unchanged and that root owns no file of the user's folder.
        """
        assert self.look() == self.before
        self.judge_theirs()

    def judge_theirs(self) -> None:
        owners = {path.name: path.lstat().st_uid for path in self.theirs.rglob("*")}
        assert set(owners.values()) <= {THEM}, owners

    def run(self, *arguments: str) -> subprocess.CompletedProcess:
        return self.kiosk.command(*arguments)


@pytest.fixture
def private() -> Iterator[Path]:
    """Yields a folder that all users may traverse but not list."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="kiosk-root-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place(make_kiosk: MakeKiosk, private: Path) -> Place:
    theirs = private / "theirs"
    theirs.mkdir(mode=0o750)
    kiosk = make_kiosk(ledger={"path": str(theirs / "ledger.sqlite")}).start()
    kiosk.stop()
    place = Place(kiosk, theirs)
    assert place.run("ledger", "backup", str(place.backup)).returncode == 0
    for path in theirs.glob("ledger.sqlite-*"):
        path.unlink()
    give(theirs)
    return place


COMMANDS = {
    "run": ["run"],
    "doctor": ["doctor"],
    "verify": ["ledger", "verify"],
    "export": ["ledger", "export"],
    "report": ["report"],
    "report-charges": ["report", "--charges"],
    "report-haccp": ["report", "--haccp"],
    "backup": ["ledger", "backup", "OURS/copy.sqlite"],
    "backup-to-them": ["ledger", "backup", "THEIRS/copy.sqlite"],
    "backup-to-a-pipe": ["ledger", "backup", "-"],
    "restore": ["ledger", "restore", "OURS/backup.sqlite"],
    "restore-replace": ["ledger", "restore", "--replace", "OURS/backup.sqlite"],
}


def arguments(place: Place, command: str) -> list[str]:
    places = {"OURS": str(place.ours), "THEIRS": str(place.theirs)}
    line = COMMANDS[command]
    for word, folder in places.items():
        line = [argument.replace(word, folder) for argument in line]
    return line


@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_in_place_of_the_ledger_is_refused_and_leads_nowhere(
    place: Place, command: str
) -> None:
    ledger = place.ledger.read_bytes()
    for part in PARTS:
        place.plant(part)
        done = place.run(*arguments(place, command))
        place.judge()
        assert done.returncode == 78, done
        told = done.stdout if command == "doctor" else done.stderr
        assert f"{place.theirs / part} cannot be opened: it is a symbolic link" in told, told
        (place.theirs / part).unlink()
        place.ledger.write_bytes(ledger)
        os.chown(place.ledger, THEM, THEM)


def test_a_machine_remembers_as_the_owner_of_the_folder(place: Place) -> None:
    memory, log = place.theirs / "bar.last", place.theirs / "pours"
    machine = ["machine", "bar", "--memory", str(memory), "--pour-log", str(log)]
    process = place.kiosk.spawn(*machine)
    eventually(log.exists)
    process.kill()
    process.wait()
    place.judge_theirs()
    memory.with_name("bar.last.good").unlink()
    for file in (memory, log):
        file.unlink()
        place.plant(file.name)
        refused = place.run(*machine)
        assert refused.returncode == 78 and str(file) in refused.stderr
        place.judge()
        file.unlink()
    apart = place.run("machine", "bar", "--memory", str(memory), "--pour-log", f"{place.ours}/pours")
    assert apart.returncode == 78 and "in folders of different users" in apart.stderr


@pytest.mark.parametrize("part", ["ledger.sqlite.restoring", "ledger.sqlite.restoring-wal",
                                  "ledger.sqlite.restoring.lock", "ledger.sqlite.replaced-1"])
def test_a_link_in_the_way_of_a_restore_leads_nowhere(place: Place, part: str) -> None:
    (place.theirs / "ledger.sqlite").write_bytes(b"no ledger")
    place.plant(part)
    done = place.run("ledger", "restore", "--replace", str(place.backup))
    assert (done.returncode, done.stderr) == (0, "")
    place.judge()
    place.kiosk.verify()


@pytest.mark.parametrize("part", ["copy.sqlite.partial", "copy.sqlite.partial-journal",
                                  "copy.sqlite.partial-wal"])
def test_a_link_in_the_way_of_a_backup_leads_nowhere(place: Place, part: str) -> None:
    place.plant(part)
    done = place.run("ledger", "backup", str(place.theirs / "copy.sqlite"))
    assert (done.returncode, done.stderr) == (0, "")
    place.judge()
    assert place.run("ledger", "verify", "--path", f"{place.theirs}/copy.sqlite").returncode == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_a_way_that_they_lead_elsewhere_ends_where_they_may_not_go(
    place: Place, command: str
) -> None:
    place.plant("unused")
    place.ledger.rename(place.theirs / "saved")
    (place.theirs / "deep").symlink_to(place.ours)
    os.lchown(place.theirs / "deep", THEM, THEM)
    shutil.copy(place.backup, place.ours / "ledger.sqlite")
    place.before = place.look()
    place.kiosk.configure(None, {"ledger": {"path": str(place.theirs / "deep/ledger.sqlite")}})
    done = place.run(*arguments(place, command))
    place.judge()
    assert done.returncode == 78 and "cannot" in done.stdout + done.stderr, done


def test_a_way_that_a_third_one_could_lead_elsewhere_is_not_gone(place: Place) -> None:
    os.chown(place.theirs, OTHER, OTHER)
    inner = place.theirs / "inner"
    inner.mkdir()
    os.chown(inner, THEM, THEM)
    refused = place.run("ledger", "verify", "--path", str(inner / "ledger.sqlite"))
    assert refused.returncode == 78
    assert f"{inner} belongs to nobody, but a part of its path to {OTHER}" in one_line(refused.stderr)
    assert not list(inner.iterdir())


def test_a_backup_in_their_folder_is_read_with_their_rights(place: Place) -> None:
    """Otherwise a link there would give the user a copy of files that only root may read."""
    place.plant("backup.sqlite")
    shutil.copy(place.backup, place.victim)
    place.before = place.look()
    done = place.run("ledger", "restore", "--replace", str(place.theirs / "backup.sqlite"))
    assert done.returncode == 65 and "it is a symbolic link" in one_line(done.stderr)
    (place.theirs / "deep").symlink_to(place.ours)
    os.lchown(place.theirs / "deep", THEM, THEM)
    done = place.run("ledger", "restore", "--replace", str(place.theirs / "deep/victim"))
    assert done.returncode == 65 and "Permission denied" in one_line(done.stderr)
    place.judge()


@pytest.mark.parametrize("command", ["run", "doctor", "check"])
def test_the_settings_beside_the_ledger_are_read_with_their_rights(place: Place, command: str) -> None:
    """Otherwise a link there would show the user parts of files that only root may read."""
    (place.ours / "ledger.sqlite.settings").write_text("root's own")
    (place.theirs / "deep").symlink_to(place.ours)
    os.lchown(place.theirs / "deep", THEM, THEM)
    place.kiosk.configure(None, {"ledger": {"path": str(place.theirs / "deep/ledger.sqlite")}})
    done = place.run(command)
    assert done.returncode != 0, done
    assert "ledger.sqlite.settings.good cannot be read by nobody" in " ".join((done.stdout + done.stderr).split())


def test_what_the_handbook_tells_root_to_do(place: Place, make_broker: MakeBroker) -> None:
    kiosk, copy = place.kiosk, place.ours / "copy.sqlite"
    passwords = [place.ours / "password", place.theirs.parent / "password"]
    for password in passwords:
        password.write_text("secret")
        password.chmod(0o600)
    os.chown(passwords[1], THEM, THEM)
    broker = make_broker(users={"controller": "secret"})
    kiosk.configure(broker, {
        "broker": {"username": "controller", "password_file": str(passwords[1])},
        "ledger": {"path": str(place.ledger)},
    })
    kiosk.start()
    threads = [path.read_text() for path in Path(f"/proc/{kiosk.process.pid}/task").glob("*/status")]
    assert len(threads) > 1
    for status in threads:
        assert f"Uid:\t{THEM}\t{THEM}\t{THEM}\t{THEM}\n" in status, status
        assert f"Gid:\t{THEM}\t{THEM}\t{THEM}\t{THEM}\n" in status, status
        assert f"\nGroups:\t{THEM} \n" in status and "\nCapPrm:\t0000000000000000\n" in status, status
    # While the kiosk is running.
    kiosk.verify()
    assert len(kiosk.ledger()) == 1
    made = place.run("ledger", "backup", str(copy))
    assert (made.returncode, made.stderr) == (0, "") and str(copy) in made.stdout
    assert (copy.stat().st_uid, stat.S_IMODE(copy.stat().st_mode) & 0o037) == (0, 0)
    assert place.run("ledger", "verify", "--path", str(copy)).returncode == 0
    again = place.run("ledger", "backup", str(copy))
    assert again.returncode == 78 and "there is a file already" in one_line(again.stderr)
    piped = subprocess.run([program(), "ledger", "backup", "-", "--config", kiosk.config],
                           capture_output=True, env=environment())
    assert piped.stdout.startswith(b"SQLite format 3") and len(piped.stdout) == copy.stat().st_size
    # The doctor, as root, may read the password that systemd gives to the kiosk.
    found = kiosk.command("doctor", "--login", KIOSK_BROKER_PASSWORD_FILE=str(passwords[0]))
    assert found.returncode == 0, found.stdout
    place.judge_theirs()
    kiosk.stop()

    refused = place.run("ledger", "restore", str(place.ours / "nothing.sqlite"))
    assert refused.returncode == 65 and "No such file" in one_line(refused.stderr)
    assert place.run("ledger", "restore", "--replace", str(copy)).returncode == 0
    place.ledger.unlink()
    assert place.run("ledger", "restore", str(copy)).returncode == 0
    place.judge_theirs()
    kiosk.start()
    kiosk.verify()
    assert sorted(path.name for path in place.ours.iterdir()) == [
        "backup.sqlite", "copy.sqlite", "password"]


def test_a_backup_for_a_third_one_is_his(place: Place, private: Path) -> None:
    his = private / "his"
    his.mkdir(mode=0o700)
    os.chown(his, OTHER, OTHER)
    made = place.run("ledger", "backup", str(his / "copy.sqlite"))
    print(made)
    assert (made.returncode, made.stderr) == (0, "")
    assert [(path.name, path.stat().st_uid) for path in his.iterdir()] == [("copy.sqlite", OTHER)]
    # And back from a folder that only its owner and root may read.
    place.ledger.unlink()
    assert place.run("ledger", "restore", str(his / "copy.sqlite")).returncode == 0
    place.judge_theirs()
    place.kiosk.verify()
    # A failed copy leaves no file.
    place.ledger.write_bytes(b"no ledger")
    failed = place.run("ledger", "backup", str(his / "other.sqlite"))
    assert failed.returncode == 65 and "damaged" in one_line(failed.stderr)
    assert len(list(his.iterdir())) == 1


@pytest.mark.parametrize("part", ["ledger.sqlite", "ledger.sqlite.lock"])
def test_the_doctor_s_advice_is_safe(place: Place, part: str, private: Path) -> None:
    """A file that another program has left there as root stops the kiosk."""
    os.chown(place.theirs / part, 0, 0)
    (place.theirs / part).chmod(0o600)
    place.plant("ledger.sqlite.mine")
    found = place.run("doctor")
    assert found.returncode == 78
    fix = next(line for line in found.stdout.splitlines() if "stop the kiosk, and run" in line)
    assert "chown" not in found.stdout
    folder = private / "backups"
    folder.mkdir(mode=0o700)
    command = fix.split(": ", 2)[2].replace("/var/backups", str(folder))
    command = command.replace("juice-kiosk ledger", f"{program()} ledger")
    subprocess.run(["bash", "-c", command], check=True, env=environment())
    place.judge()
    place.kiosk.start()
    place.kiosk.verify()
    assert place.run("doctor", "--login").returncode == 0


@pytest.mark.parametrize("part", ["users", "users.new"])
def test_the_dashboard_s_users_are_its_own_to_change(private: Path, part: str) -> None:
    theirs, ours = private / "theirs", private / "ours"
    for folder in (theirs, ours):
        folder.mkdir(mode=0o700)
    secret = ours / "users"
    secret.write_text("")
    secret.chmod(0o600)
    (theirs / part).symlink_to(secret)
    give(theirs)
    done = subprocess.run(
        [dashboard.program(), "user", "add", "minji", "--generate"], capture_output=True, text=True,
        env=environment(KIOSK_DASHBOARD_USERS_FILE=str(theirs / "users")))
    assert secret.read_text() == "" and secret.stat().st_uid == 0
    assert {path.lstat().st_uid for path in theirs.iterdir()} == {THEM}
    assert (done.returncode, (theirs / "users").is_symlink()) == (
        (0, False) if part == "users.new" else (78, True)), done.stderr
