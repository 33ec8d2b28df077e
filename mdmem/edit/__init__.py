"""What a person asks to be done to a memory in, a changed file and the words for what was written out."""

from mdmem.edit.add import add
from mdmem.edit.adopt import adopt
from mdmem.edit.change import archive, change, restore, said_anew, update
from mdmem.edit.editor import edit_in_editor
from mdmem.edit.fields import check_fields, check_text
from mdmem.edit.move import move
from mdmem.edit.notes import version_of, write_notes
from mdmem.edit.place import Guard, Written, refuse_mount
from mdmem.edit.project import init_project

__all__ = [
    "Guard",
    "Written",
    "add",
    "adopt",
    "archive",
    "change",
    "check_fields",
    "check_text",
    "edit_in_editor",
    "init_project",
    "move",
    "refuse_mount",
    "restore",
    "said_anew",
    "update",
    "version_of",
    "write_notes",
]
