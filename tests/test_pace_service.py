"""The inline pacer as systemd runs it: packaging's unit, by a systemd of the test's own.

That systemd is the first process of namespaces that end with it. It sees this machine's files, but can change none, and
has units from one folder alone; its network is the box of `wire`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import wire as net

SYSTEMD = Path("/usr/lib/systemd/systemd")
UNIT = Path(__file__).parent.parent / "packaging" / "paceline-pace.service"
NAME = UNIT.name

#: What stands for the machine's own units. The first lets the unit's dependencies be as they are on any machine.
STUBS = {
    **{f"{name}.target": "[Unit]\nDefaultDependencies=no\n" for name in ("sysinit", "basic", "shutdown", "network")},
    "nothing.target": "[Unit]\nDefaultDependencies=no\n",
}
#: Settings beside the unit's own, in the test alone: where what it says goes.
DROP_IN = "[Service]\nStandardOutput=append:/run/said\nStandardError=append:/run/said\n"

#: Files first, while they can be written: then what is the machine's is read-only, system settings too.
SETUP = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /usr/local/bin
cp -r "$FOLDER"/units /run/units
cp "$FOLDER"/paceline-pace /usr/local/bin/
cp "$FOLDER"/pace.toml /run/pace.toml
mkdir /run/none
mount -o remount,bind,ro /
mount -t proc proc /proc
for place in /proc/sys /dev; do
    mount --bind "$place" "$place"
    mount -o remount,bind,ro "$place"
done
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /var/tmp
umount -R /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
export container=paceline SYSTEMD_UNIT_PATH=/run/units
export SYSTEMD_GENERATOR_PATH=/run/none SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/run/none
exec "$SYSTEMD" --system --unit=nothing.target --show-status=no --log-target=null
"""


def groups() -> Path | None:
    """Where version 2 of control groups is mounted."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    return None


def program() -> Path | None:
    """The newest build of the program itself: a service's user may not see the Python that tests run by."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", UNIT.parent.parent / "target"))
    named = os.environ.get("PACELINE_PROGRAMS")
    folders = [Path(named)] if named else [target / "release", target / "debug"]
    made = [folder / "paceline-pace" for folder in folders if (folder / "paceline-pace").exists()]
    return max(made, key=lambda file: file.stat().st_mtime, default=None)


def why_not() -> str | None:
    reason = net.why_not()
    if reason is not None:
        return reason
    if not SYSTEMD.exists() or shutil.which("systemctl") is None:
        return "needs systemd"
    if groups() is None:
        return "needs control groups of version 2"
    if program() is None:
        return "needs the program: cargo build -p paceline-dataplane"
    return None


REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


class Service:
    """A systemd that has the unit."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.root = Path(f"/proc/{first}/root")

    def inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", "--target", str(self.first), "--mount", "--pid", "--cgroup"]
        return subprocess.run([*enter, *command], capture_output=True, text=True, check=False, timeout=30)

    def control(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.inside("systemctl", "--no-pager", *words)

    def property(self, name: str) -> str:
        return self.control("show", "--property", name, "--value", NAME).stdout.strip()

    def said(self) -> str:
        file = self.root / "run" / "said"
        return file.read_text() if file.exists() else ""

    def wait_until_ready(self, times: int = 1) -> None:
        until = time.monotonic() + 20
        while self.said().count("ready: ") < times:
            assert time.monotonic() < until, (self.said(), self.control("status", NAME).stdout)
            time.sleep(0.02)


def install(folder: Path, back_end: str) -> None:
    """What the setup copies: the unit with its settings where they can be, the program, and the stubs."""
    units = folder / "units"
    (units / f"{NAME}.d").mkdir(parents=True)
    text = UNIT.read_text()
    assert "/etc/paceline/pace.toml" in text
    (units / NAME).write_text(text.replace("/etc/paceline/pace.toml", "/run/pace.toml"))
    (units / f"{NAME}.d" / "test.conf").write_text(DROP_IN)
    for name, stub in STUBS.items():
        (units / name).write_text(stub)
    (folder / "pace.toml").write_text(
        f'in = "in0"\nout = "out0"\nback_end = "{back_end}"\n[forward]\nmethod = "edge"\ndelay = "2 ms"\n'
    )
    made = program()
    assert made is not None
    shutil.copy(made, folder / "paceline-pace")


@contextmanager
def systemd(wire: net.Wire, folder: Path) -> Iterator[Service]:
    mounted = groups()
    assert mounted is not None
    group = mounted / f"paceline-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"a control group cannot be made: {error}")
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--cgroup", "--uts", "--ipc", "sh", "-c", SETUP]
    join = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    environment = os.environ | {"FOLDER": str(folder), "SYSTEMD": str(SYSTEMD)}
    process = subprocess.Popen(
        [*join, "ip", "netns", "exec", wire.box, *apart],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    service = None
    try:
        until = time.monotonic() + 20
        while service is None or service.control("is-active", "nothing.target").returncode != 0:
            if process.poll() is not None:
                assert process.stderr
                pytest.skip(f"a systemd cannot be started here: {process.stderr.read().strip()}")
            assert time.monotonic() < until, "systemd does not answer"
            time.sleep(0.05)
            ps = ["ps", "-o", "pid=", "--ppid", str(process.pid)]
            found = subprocess.run(ps, capture_output=True, text=True, check=False).stdout
            service = Service(int(found)) if found.strip() else None
        yield service
    finally:
        # what ends with it: all that it has started
        if process.poll() is None:
            os.kill(service.first if service else process.pid, signal.SIGKILL)
        process.wait(20)
        if process.stderr:
            process.stderr.close()
        until = time.monotonic() + 10
        for made in [*sorted(group.rglob("*/"), reverse=True), group]:
            while made.exists() and time.monotonic() < until:
                try:
                    made.rmdir()
                except OSError:  # its last process has not gone yet
                    time.sleep(0.02)


@pytest.mark.parametrize("back_end", ["af_packet", "af_xdp"])
def test_the_service_paces_restarts_and_stops(tmp_path: Path, back_end: str) -> None:
    install(tmp_path, back_end)
    with net.wire() as wire, systemd(wire, tmp_path) as service:
        started = service.control("start", NAME)
        assert started.returncode == 0, (started.stderr, service.control("status", NAME).stdout)
        service.wait_until_ready()
        assert "real-time" not in service.said()
        with net.Stream(wire) as stream:
            time.sleep(0.5)
            assert service.control("reload", NAME).returncode == 0
            time.sleep(0.3)
        assert stream.received.numbers == list(range(len(stream.sent_ns)))
        assert "settings read again" in service.said()

        # killed, it is started again, and takes over what the first has left
        before = service.property("MainPID")
        service.control("kill", "--signal", str(int(signal.SIGKILL)), NAME)
        service.wait_until_ready(2)
        assert service.property("MainPID") != before
        assert "did not end as it should" in service.said()
        with net.Stream(wire) as stream:
            time.sleep(0.3)
        assert stream.received.numbers == list(range(len(stream.sent_ns)))

        assert service.control("stop", NAME).returncode == 0
        assert service.property("Result") == "success"
        for interface in ("in0", "out0"):
            assert "PROMISC" not in wire.ip(wire.box, "link", "show", "dev", interface)


def test_the_service_has_no_more_than_its_unit_says(tmp_path: Path) -> None:
    install(tmp_path, "af_packet")
    with net.wire() as wire, systemd(wire, tmp_path) as service:
        assert service.control("start", NAME).returncode == 0
        service.wait_until_ready()
        main = service.property("MainPID")
        status = service.inside("cat", f"/proc/{main}/status").stdout
        fields = dict(line.split(":", 1) for line in status.splitlines())
        assert fields["Uid"].split()[0] != "0"
        assert fields["NoNewPrivs"].strip() == "1"
        assert fields["Seccomp"].strip() == "2"
        assert int(fields["CapEff"], 16) == 1 << 12  # after setting up: CAP_NET_ADMIN
        # and what it needs it has: memory that stays in place, and threads that go first
        assert fields["VmLck"].split()[0] != "0"
        threads = service.inside("ps", "-L", "-o", "cls=,comm=", "-p", main).stdout.split()
        for name in ("pace-forward", "pace-reverse"):
            assert threads[threads.index(name) - 1] == "FF", threads
