"""A new user's first minutes: a wheel alone, in an empty folder, without repository or network. ``make trial``.

The wheel is installed into a new environment, which fetches what it depends on. From then on a network namespace of its
own, with nothing but loopback, stands for the absent network: ``init``, ``run``, ``compare``, the studio's page, and a
notebook from its first cell to its last. Prints what each takes here, and ends with an error where one fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

#: Set in the process that has no network.
_INSIDE = "PACELINE_TRIAL_INSIDE"
#: Seconds for the studio to say where it is.
_PATIENCE_S = 60.0


def install(wheel: Path, environment: Path) -> None:
    """The wheel, with what the studio and notebooks need, in a new environment."""
    run = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run([sys.executable, "-m", "venv", str(environment)], **run)
    wanted = f"paceline[studio,notebook,plot] @ {wheel.resolve().as_uri()}"
    subprocess.run([str(environment / "bin" / "pip"), "install", "--quiet", wanted], **run)


def steps() -> list[tuple[str, Callable[[], None]]]:
    """What a new user does, in order, in the folder where the program runs."""
    return [
        ("paceline init one-flow", lambda: _paceline("init", "one-flow")),
        ("paceline run one-flow.toml", lambda: _paceline("run", "one-flow.toml", "--out", "before")),
        (
            "paceline run one-flow.toml --set network.links.1.buffer=…",
            lambda: _paceline("run", "one-flow.toml", "--set", "network.links.1.buffer=1 BDP", "--out", "after"),
        ),
        ("paceline compare before after", lambda: _paceline("compare", "before", "after", codes=(0, 1))),
        ("paceline studio one-flow.toml: its page", _studio),
        ("paceline init notebooks/first-steps", lambda: _paceline("init", "notebooks/first-steps")),
        ("the notebook, all cells", _notebook),
    ]


def _program(name: str) -> str:
    return str(Path(sys.prefix) / "bin" / name)


def _paceline(*words: str, codes: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run([_program("paceline"), *words], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"paceline {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")


def _studio() -> None:
    command = [_program("paceline"), "studio", "one-flow.toml", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as studio:
        try:
            address = _address(studio)
            with urllib.request.urlopen(address, timeout=_PATIENCE_S) as page:  # noqa: S310, its own
                if b"<title>" not in page.read():
                    sys.exit(f"studio: no page at {address}")
        finally:
            studio.terminate()


def _address(studio: subprocess.Popen[str]) -> str:
    assert studio.stdout
    said = []
    for line in studio.stdout:
        if found := re.search(r"http://\S+", line):
            return found[0]
        said.append(line)
    sys.exit(f"studio: said no address\n{''.join(said)}")


def _notebook() -> None:
    command = [
        _program("jupyter"),
        "nbconvert",
        "--to",
        "html",
        "--execute",
        *map(str, Path().rglob("first-steps.ipynb")),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"notebook: {done.stderr}")


def try_out() -> None:
    """All steps, with what each takes."""
    total = 0.0
    for name, step in steps():
        begun = time.monotonic()
        step()
        took = time.monotonic() - begun
        total += took
        print(f"{took:6.1f} s  {name}", flush=True)
    print(f"{total:6.1f} s  in all, without a network", flush=True)


def main() -> None:
    """Installs, and goes on without a network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the wheel")
    options = parser.parse_args()
    if os.environ.get(_INSIDE):
        return try_out()
    with tempfile.TemporaryDirectory() as folder:
        environment, empty = Path(folder) / "environment", Path(folder) / "empty"
        empty.mkdir()
        begun = time.monotonic()
        install(options.wheel, environment)
        print(
            f"{time.monotonic() - begun:6.1f} s  pip install, which fetches NumPy, Arrow, JupyterLab and others",
            flush=True,
        )
        inside = [str(environment / "bin" / "python"), str(Path(__file__).resolve()), str(options.wheel.resolve())]
        alone = 'ip link set lo up && exec "$@"'
        variables = {"HOME": folder, "PATH": f"{environment / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin", _INSIDE: "1"}
        cut_off = ["unshare", "--net", "--map-root-user", "sh", "-c", alone, "sh", *inside]
        return sys.exit(subprocess.run(cut_off, cwd=empty, env=variables).returncode)


if __name__ == "__main__":
    main()
