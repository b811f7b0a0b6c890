"""The wheels of a release, for Linux, macOS and Windows, made on one Linux machine. ``make wheels``.

Zig's C compiler links for the other systems and processors, and on Linux for a C library as old as glibc 2.17. With
``--try`` scenarios are run with what can be run here, and results are equal to the byte: with both wheels for Linux,
the one for aarch64 under QEMU with Debian 12's Python for that processor; and with the engine alone, without Python,
as a program for Windows under Wine. What is for macOS is linked, and not run. It needs apt, a network and no
rights, and of Debian's packages ``qemu-user-static``, ``wine64`` and ``gcc-mingw-w64-x86-64``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tomli_w

ROOT = Path(__file__).parent.parent
WINDOWS = "x86_64-pc-windows-gnu"
#: What each is tried by.
TARGETS = {
    "x86_64-unknown-linux-gnu": "the wheel, on this machine",
    "aarch64-unknown-linux-gnu": "the wheel, under QEMU",
    "aarch64-apple-darwin": "linked, not run",
    "x86_64-apple-darwin": "linked, not run",
    WINDOWS: "the engine without Python, under Wine",
}
#: glibc's oldest, in the name of a wheel for Linux (PEP 600).
COMPATIBILITY = "manylinux_2_17"
#: What Python needs there, packages of Debian 12.
_PYTHON = ["python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libgcc-s1", "libstdc++6"]
_PYTHON += ["zlib1g", "libexpat1", "libssl3", "libffi8", "libbz2-1.0", "liblzma5", "libsqlite3-0", "libuuid1"]
#: Tags of wheels that others have made for it.
_PLATFORMS = ("manylinux2014_aarch64", "manylinux_2_27_aarch64", "manylinux_2_28_aarch64")
#: What --try runs, and the package of Debian that has it.
_FOR_TRIES = {
    "qemu-aarch64-static": "qemu-user-static",
    "wine": "wine64",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
}
#: What is run, and what is changed in it so that an emulated processor is done in seconds.
TRIED: dict[str, Sequence[str]] = {
    "one-flow": (),
    "edge-vs-host": ("duration=4 s", "warmup=2 s"),
    "very-small-buffers": ("duration=2 s", "warmup=1 s"),
    "rpc": ("duration=2 s", "warmup=1 s"),
    "priority": ("duration=2 s", "warmup=1 s"),
    "gso-trains": ("duration=2 s", "warmup=1 s", "traffic.download.tcp.variant=bbr"),
}


#: What the core for Windows exports: the name that maturin 1.16 asks the linker for, and the one that Python looks for.
_START = """
.globl "PyInit_paceline._core"
"PyInit_paceline._core":
    jmp PyInit__core
.section .drectve,"yni"
.ascii " -export:PyInit__core"
"""
#: What Wine 8 lacks, in C.
_PRNG = """
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return RtlGenRandom(data, (ULONG)length); }
"""


def build(out: Path, targets: Iterable[str]) -> list[Path]:
    """A wheel a target."""
    shutil.rmtree(out, ignore_errors=True)
    for target in targets:
        _run(["rustup", "target", "add", target])
        command = ["maturin", "build", "--release", "--locked", "--zig"]
        if "linux" in target:
            command += ["--compatibility", COMPATIBILITY]
        command += ["--target", target, "--out", str(out)]
        if target == WINDOWS:
            command += ["--", "-C", f"link-arg={_alias(ROOT / 'target' / 'wheels-alias')}"]
        _run(command)
    wheels = sorted(out.glob("*.whl"))
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            (core,) = (name for name in archive.namelist() if re.fullmatch(r"paceline/_core\S*\.(so|pyd)", name))
            if b"PyInit__core\0" not in archive.read(core):
                sys.exit(f"wheels: {wheel.name}: Python would not find PyInit__core in {core}")
    return wheels


def _alias(folder: Path) -> Path:
    """For Zig's linker, which maturin has export the function that Python calls first by the module's full name."""
    folder.mkdir(parents=True, exist_ok=True)
    source, assembled = folder / "alias.s", folder / "alias.o"
    source.write_text(_START)
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-windows-gnu"]
    _run([*zig, "-c", str(source), "-o", str(assembled)])
    return assembled


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
    """What can be run here, on the same scenarios: ends the program where results differ."""
    if platform.machine() != "x86_64":
        sys.exit("wheels: --try compares with x86-64, and this machine is none")
    shutil.rmtree(work, ignore_errors=True)
    commands = [
        _of_here(_one(wheels, "linux*x86_64"), work / "x86_64"),
        _of_aarch64(_one(wheels, "linux*aarch64"), work / "aarch64"),
    ]
    engine = _of_windows(work / "windows")
    for scenario in TRIED:
        here, there = (
            results(command, scenario, work / "runs" / processor, environment)
            for processor, (command, environment) in zip(("x86_64", "aarch64"), commands, strict=True)
        )
        if here != there:
            sys.exit(f"wheels: {scenario}: results differ between the processors")
        _compare_engine(engine, commands[0], scenario, work / "runs" / "x86_64")
        print(f"{scenario}: the same results on both processors, and on Windows", flush=True)
    for target, how in TARGETS.items():
        print(f"{target}: {how}", flush=True)


def _compare_engine(
    engine: tuple[list[str], dict[str, str]], package: tuple[list[str], dict[str, str]], scenario: str, folder: Path
) -> None:
    """The engine alone, which knows no sweep, beside the package: ends the program where results differ."""
    command, environment = package
    settings = [word for setting in TRIED[scenario] for word in ("--set", setting)]
    kept = [*command, "run", f"{scenario}.toml", "--quiet", *settings, "--out", scenario]
    _run(kept, cwd=folder, env=environment)
    tables = tomllib.loads((folder / scenario / "scenario.toml").read_text(encoding="utf-8"))
    base = folder / scenario / "base.toml"
    alone = {name: one for name, one in tables.items() if name not in {"sweep", "seeds"}}
    base.write_text(tomli_w.dumps(alone), encoding="utf-8")
    (here,) = json.loads(_run([*command, "run", str(base), "--json", "--quiet"], cwd=folder, env=environment))
    command, environment = engine
    said, _, _ = _run([*command, f"Z:{base}"], env=environment).partition("core packets:")
    there = json.loads(said)
    if len(there) < 3 or there != {name: here[name] for name in there}:
        sys.exit(f"wheels: {scenario}: results differ on Windows")


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


def _of_windows(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The engine as a program; and a library of Windows that Debian's Wine does not have, for Rust's hash maps."""
    _run(["rustup", "target", "add", WINDOWS])
    target = ROOT / "target" / "wheels-windows"
    build = ["cargo", "build", "--release", "--locked", "--package", "paceline-sim", "--example", "engine"]
    _run([*build, "--target", WINDOWS, "--target-dir", str(target)], cwd=ROOT)
    folder.mkdir(parents=True)
    shutil.copy(target / WINDOWS / "release" / "examples" / "engine.exe", folder)
    (folder / "prng.c").write_text(_PRNG)
    library = ["x86_64-w64-mingw32-gcc", "-shared", "prng.c", "-o", "bcryptprimitives.dll", "-ladvapi32"]
    _run(library, cwd=folder)
    environment = os.environ | {"WINEPREFIX": str(folder / "prefix"), "WINEDEBUG": "-all"}
    return ["wine", str(folder / "engine.exe")], environment


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


def _one(wheels: Sequence[Path], tag: str) -> Path:
    return next(wheel for wheel in wheels if wheel.match(f"*{tag}.whl"))


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
    parser.add_argument(
        "--try", dest="tries", action="store_true", help="run scenarios with what runs here, and compare"
    )
    parser.add_argument("--built", action="store_true", help="the wheels are there: build none")
    options = parser.parse_args()
    missing = [name for name in _FOR_TRIES if options.tries and not shutil.which(name)]
    if missing:  # before a build of some minutes
        sys.exit(f"wheels: --try needs {', '.join(missing)}; install {' '.join(_FOR_TRIES.values())}")
    wheels = sorted(options.out.glob("*.whl")) if options.built else build(options.out, TARGETS)
    for wheel in wheels:
        print(wheel, flush=True)
    if options.tries:
        compare(wheels, ROOT / "target" / "wheels-tried")


if __name__ == "__main__":
    main()
