"""Fetches the JavaScript of `paceline studio` by name from npm and puts it, unbundled, into the package.

``python packaging/studio_vendor.py``, after a change of a version here; needs npm. Browsers resolve no bare names
without an import map, which is an inline script: so ``from "preact"`` becomes ``from "./preact.js"``, and nothing
else is changed. Licences stand beside the code, and in THIRD-PARTY-LICENSES.txt by `packaging/licenses.py`.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "python" / "paceline" / "studio" / "static" / "vendor"
#: Package and version, with the file of each that is served under which name.
PACKAGES: dict[str, tuple[str, dict[str, str]]] = {
    "preact": ("11.2.0", {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "hooks.js"}),
    "htm": ("3.1.1", {"dist/htm.mjs": "htm.js"}),
    "@preact/signals-core": ("1.14.5", {"dist/signals-core.mjs": "signals-core.js"}),
    "@preact/signals": ("2.11.4", {"dist/signals.mjs": "signals.js"}),
    "uplot": ("1.6.32", {"dist/uPlot.esm.js": "uplot.js", "dist/uPlot.min.css": "uplot.css"}),
}
#: What a bare name is a file of.
_BARE = {
    "preact": "preact.js",
    "preact/hooks": "hooks.js",
    "@preact/signals-core": "signals-core.js",
}


def local(text: str) -> str:
    """A module with the names that it imports as files beside it, and without a source map that is not there."""
    for name, file in _BARE.items():
        text = re.sub(rf'(from\s*)"{re.escape(name)}"', rf'\1"./{file}"', text)
    return re.sub(r"\n//# sourceMappingURL=.*\n?$", "\n", text)


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    described = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (version, files) in PACKAGES.items():
            command = ["npm", "pack", "--silent", "--json", f"{name}@{version}", "--pack-destination", folder]
            packed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            found = json.loads(packed)
            about = found[0] if isinstance(found, list) else next(iter(found.values()))
            archive = next(Path(folder).glob("*.tgz"))
            with tarfile.open(archive) as tar:

                def text(member: str, tar: tarfile.TarFile = tar) -> str:
                    opened = tar.extractfile(f"package/{member}")
                    assert opened is not None
                    return opened.read().decode()

                for member, target in files.items():
                    (TARGET / target).write_text(local(text(member)), encoding="utf-8")
                manifest = json.loads(text("package.json"))
                licence = text("LICENSE").strip()
            archive.unlink()
            described.append(
                {"name": name, "version": version, "license": manifest["license"], "integrity": about["integrity"]}
                | {"files": sorted(files.values()), "text": licence}
            )
    (TARGET / "packages.json").write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
