"""The scenario that was simulated, on the real TCP of this Linux machine: ``paceline emulate``.

Hosts are sockets in network namespaces without names, links are one program in virtual time (``paceline-wires``), and
nothing of it outlasts the processes that hold it. docs/emulate.md says what is real, what is emulated, and how well the
two worlds agree.
"""

from paceline.emulate.choices import Choices
from paceline.emulate.kernel_sweep import emulate

__all__ = ["Choices", "emulate"]
