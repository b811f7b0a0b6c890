"""The wheels of a release, for Linux on x86-64 and aarch64, made on one machine. ``make wheels``.

Zig's C compiler links for the other processor, and for a C library as old as glibc 2.17. ``--try`` then installs both
wheels, the one for aarch64 under QEMU with Debian 12's Python for that processor, and runs scenarios with both: results
are equal to the byte. It needs ``qemu-aarch64-static`` and apt, a network, and no rights.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
#: glibc's oldest, in the name of a wheel (PEP 600).
COMPATIBILITY = "manylinux_2_17"
#: What Python needs there, packages of Debian 12.
_PYTHON = ["python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libgcc-s1", "libstdc++6"]
_PYTHON += ["zlib1g", "libexpat1", "libssl3", "libffi8", "libbz2-1.0", "liblzma5", "libsqlite3-0", "libuuid1"]
#: Tags of wheels that others have made for it.
_PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
#: What is run, and what is changed in it so that an emulated processor is done in seconds.
TRIED: dict[str, Sequence[str]] = {
    "one-flow": (),
    "edge-vs-host": ("duration=4 s", "warmup=2 s"),
    "very-small-buffers": ("duration=2 s", "warmup=1 s"),
    "rpc": ("duration=2 s", "warmup=1 s"),
    "priority": ("duration=2 s", "warmup=1 s"),
    "gso-trains": ("duration=2 s", "warmup=1 s", "traffic.download.tcp.variant=bbr"),
}


def build(out: Path, targets: Sequence[str]) -> list[Path]:
    """A wheel a target."""
    shutil.rmtree(out, ignore_errors=True)
    for target in targets:
        _run(["rustup", "target", "add", target])
        command = ["maturin", "build", "--release", "--locked", "--zig", "--compatibility", COMPATIBILITY]
        _run([*command, "--target", target, "--out", str(out)])
    return sorted(out.glob("*.whl"))


def results(command: Sequence[str], scenario: str, folder: Path, environment: dict[str, str]) -> Any:
    """What a scenario prints, but for how long it took."""
    settings = [word for setting in TRIED[scenario] for word in ("--set", setting)]
    folder.mkdir(parents=True, exist_ok=True)
    _run([*command, "init", scenario, "--force", "--quiet"], cwd=folder, env=environment)
    said = _run([*command, "run", f"{scenario}.toml", "--json", "--quiet", *settings], cwd=folder, env=environment)
    return _without_times(json.loads(said))


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(one) for key, one in value.items() if key not in {"wall_s", "cpu_s"}}
    return [_without_times(one) for one in value] if isinstance(value, list) else value


def compare(wheels: Sequence[Path], work: Path) -> None:
    """Both wheels on the same scenarios: ends the program where they differ."""
    if platform.machine() != "x86_64":
        sys.exit("wheels: --try compares with x86-64, and this machine is none")
    shutil.rmtree(work, ignore_errors=True)
    commands = [
        _of_here(_one(wheels, "x86_64"), work / "x86_64"),
        _of_aarch64(_one(wheels, "aarch64"), work / "aarch64"),
    ]
    for scenario in TRIED:
        here, there = (
            results(command, scenario, work / "runs" / processor, environment)
            for processor, (command, environment) in zip(("x86_64", "aarch64"), commands, strict=True)
        )
        if here != there:
            sys.exit(f"wheels: {scenario}: results differ between the processors")
        print(f"{scenario}: the same results on both processors", flush=True)


def _of_here(wheel: Path, folder: Path) -> tuple[list[str], dict[str, str]]:
    _run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), str(wheel)])
    return [sys.executable, "-m", "paceline"], os.environ | {"PYTHONPATH": str(folder)}


def _of_aarch64(wheel: Path, folder: Path) -> tuple[list[str], dict[str, str]]:
    root, packages = folder / "root", folder / "packages"
    _unpack_python(root, folder / "apt")
    platforms = [word for tag in _PLATFORMS for word in ("--platform", tag)]
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(packages)]
    _run([*install, "--python-version", "3.11", *platforms, "--only-binary=:all:", str(wheel)])
    command = ["qemu-aarch64-static", "-L", str(root), str(root / "usr/bin/python3.11"), "-m", "paceline"]
    return command, os.environ | {"PYTHONPATH": str(packages), "PYTHONHOME": str(root / "usr")}


def _unpack_python(root: Path, state: Path) -> None:
    """Debian's Python for aarch64, beside what is installed: the lists of packages are its own."""
    for name in ("lists/partial", "archives/partial", "packages"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    options = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "",
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state,
    }
    apt = ["apt-get", "--quiet", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    _run([*apt, "update"])
    _run([*apt, "download", *_PYTHON], cwd=state / "packages")
    for package in (state / "packages").glob("*.deb"):
        _run(["dpkg", "-x", str(package), str(root)])


def _one(wheels: Sequence[Path], processor: str) -> Path:
    return next(wheel for wheel in wheels if wheel.stem.endswith(processor))


def _run(command: Sequence[str], **options: Any) -> str:
    """What a command prints; ends the program where it fails."""
    try:
        return str(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout)
    except FileNotFoundError:
        sys.exit(f"wheels: needs {command[0]}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"wheels: {' '.join(command[:6])} …: failed with {error.returncode}")


def main() -> None:
    """Builds, and tries what is built if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="where the wheels go (dist/)")
    parser.add_argument("--try", dest="tries", action="store_true", help="run scenarios with both, and compare")
    parser.add_argument("--built", action="store_true", help="the wheels are there: build none")
    options = parser.parse_args()
    wheels = sorted(options.out.glob("*.whl")) if options.built else build(options.out, TARGETS)
    for wheel in wheels:
        print(wheel, flush=True)
    if options.tries:
        compare(wheels, ROOT / "target" / "wheels-tried")


if __name__ == "__main__":
    main()
