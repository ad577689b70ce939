"""What is measured: named works, each with its inputs, its answer by NumPy, and its target."""

from works.table import KINDS, work_named, works_of
from works.work import Work, Works

__all__ = ["KINDS", "Work", "Works", "work_named", "works_of"]
