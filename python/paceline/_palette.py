"""Colours and markers of series in Matplotlib figures: those of plots, claims and theory."""

from __future__ import annotations

#: One colour a slot, as in the report; told apart by eyes of every kind, with the markers.
# fmt: off
COLOURS = (
    "#5b6470", "#b84a00", "#0a63bd", "#007a64", "#8a3aa3", "#806200", "#b3265e", "#466b1e",
    "#363e49", "#672601", "#033c77", "#00483a", "#5f0276", "#4d3a01", "#720537", "#294702",
    "#62669b", "#965d08", "#5a59ce", "#017b7f", "#af2d8b", "#6e7105", "#c52024", "#10804b",
)
# fmt: on
#: Filled for the first of them, hollow for as many more.
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*", "p", "h", "<", ">")
