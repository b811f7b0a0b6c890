"""The gallery: claims of the papers, their pictures and verdicts as one offline site, `paceline gallery`.

`entries` says what there is to show and what of it is out of date, `pictures` makes pictures follow a page in light,
dark and on a phone, `pages` writes the site. It reads what `paceline reproduce` kept, and runs nothing.
"""

from __future__ import annotations

from paceline.gallery.pages import write

__all__ = ["write"]
