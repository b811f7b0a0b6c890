"""A process that is one of the emulation's programs: ``python -m paceline.emulate.run_program paceline-wires``."""

from __future__ import annotations

import sys

from paceline import _core

if __name__ == "__main__":
    try:
        _core.emulation(sys.argv[1])
    except (_core.RunError, _core.InputError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
