"""What a clause may say about an inability, in any language. Plain data."""

from __future__ import annotations

import enum


class Sign(enum.Flag):
    """The signs that a grammar finds in one clause."""

    NONE = 0
    CANNOT = enum.auto()  # the assistant can't do a deed, lacks what it takes, or hands the deed to the person
    MAYBE = enum.auto()  # something can't be done: an inability of the assistant if a reason stands near
    REASON = enum.auto()  # access, a tool or a connection is missing or was denied, whoever it is that needs it
    UNDONE = enum.auto()  # a deed was not done: an inability if a reason stands near
    DONE = enum.auto()  # a deed was done
    WORKED = enum.auto()  # what was tried went well, or another way was taken
    EARLY = enum.auto()  # this was so at first
    THEN = enum.auto()  # this came of it, or afterwards
    BUT = enum.auto()  # this stands against it
    VOID = enum.auto()  # a condition, a question, or a concession: what the clause says did not stop the assistant
