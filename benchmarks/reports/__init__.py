"""What a run says: a table, a plot, a line of history, and what moved since the last run."""

from reports.history import Entry, keep, last_entry, moved
from reports.plot import plot_growth, plot_ratios
from reports.row import Row, row_of
from reports.table import header, line_of, summary

__all__ = [
    "Entry",
    "Row",
    "header",
    "keep",
    "last_entry",
    "line_of",
    "moved",
    "plot_growth",
    "plot_ratios",
    "row_of",
    "summary",
]
