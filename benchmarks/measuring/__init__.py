"""Times: of works in processes of peers that take turns, and of what the machine could do."""

from measuring.crew import Crew
from measuring.rounds import QUICK, Pace, measure_works
from measuring.times import OURS, Measured, Times

__all__ = ["OURS", "QUICK", "Crew", "Measured", "Pace", "Times", "measure_works"]
