"""What agents write about their own work in, events out."""

from mdmem.activity.cursor import from_hook
from mdmem.activity.events import Event, Kind, Outcome, Source, Who
from mdmem.activity.feed import Notes, Trouble, read_log
from mdmem.activity.generic import Fields
from mdmem.activity.harvest import Progress, harvest
from mdmem.activity.places import READERS, Found, Place, detect, find_any, find_logs, named, places, stat_log
from mdmem.activity.tail import Find, Tail

__all__ = [
    "READERS",
    "Event",
    "Fields",
    "Find",
    "Found",
    "Kind",
    "Notes",
    "Outcome",
    "Place",
    "Progress",
    "Source",
    "Tail",
    "Trouble",
    "Who",
    "detect",
    "find_any",
    "find_logs",
    "from_hook",
    "harvest",
    "named",
    "places",
    "read_log",
    "stat_log",
]
