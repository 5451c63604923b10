"""The run, one event a line: what was asked, answered, measured, decided, changed and executed."""

from journal.events import SCHEMA, Event
from journal.journal import Journal, JournalError, read

__all__ = ["SCHEMA", "Event", "Journal", "JournalError", "read"]
