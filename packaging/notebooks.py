"""Executes the notebooks of docs/notebooks in full, and writes what they show as pages of the site: `make notebooks`.

A notebook is kept without its outputs. Its page, beside it, has its words, its code and what that printed; pictures go
to docs/images/notebooks.
"""

from __future__ import annotations

import base64
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "notebooks"
PICTURES = ROOT / "docs" / "images" / "notebooks"


def page(notebook: Any, name: str) -> str:
    """The page of a notebook that was executed; its pictures are written."""
    about = f"*The notebook: [{name}.ipynb]({name}.ipynb), or `paceline init notebooks/{name}`.*"
    parts: list[str] = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts += [f"```python\n{cell.source}\n```", *_outputs(cell.outputs, f"{name}-{number}")]
        if number == 0:
            parts.append(about)
    return "\n\n".join(parts) + "\n"


def _outputs(outputs: Any, stem: str) -> Iterator[str]:
    for output in outputs:
        if output.output_type == "stream":
            if output.name == "stdout":
                yield f"```\n{output.text.rstrip()}\n```"
            continue
        data = output.data
        if "application/vnd.jupyter.widget-view+json" in data:
            yield (
                "![The studio's page, of its first lesson](../images/studio.png)\n\n"
                "*A cell cannot move on a page: this is [the studio](../studio.md) of another scenario.*"
            )
        elif "image/png" in data:
            (PICTURES / f"{stem}.png").write_bytes(base64.b64decode(data["image/png"]))
            yield f"![What the cell above draws](../images/notebooks/{stem}.png)\n\n*What the cell above draws.*"
        elif data.get("text/html", "").startswith("<progress"):
            continue
        elif "text/html" in data:
            yield re.sub(r"\n\s*\n", "\n", f'<div class="output">\n{data["text/html"].strip()}\n</div>')
        else:
            yield f"```\n{data['text/plain'].rstrip()}\n```"


def main(names: list[str]) -> None:
    """Those named, or all."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for path in sorted(FOLDER.glob("*.ipynb")):
        name = path.stem
        if names and name not in names:
            continue
        for old in PICTURES.glob(f"{name}-*.png"):
            old.unlink()
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(
                notebook, timeout=1800, kernel_name="python3", resources={"metadata": {"path": folder}}
            ).execute()
        (FOLDER / f"{name}.md").write_text(page(notebook, name), encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
