"""Scope folders in; which files are there, their bytes, and what kind of place it is out. Writing: `files.write`.

`from mdmem.files import git` works as for the other names, but is imported only then: a hook does not need it.
"""

from mdmem.files.ignore import Rules, is_memory_name, load_rules, matters, skip_folder
from mdmem.files.names import folded, from_printable, printable
from mdmem.files.place import birth, file_system, folder_identity, private_folder, real_folder, shared_folder
from mdmem.files.problems import CODES, MAX_FILE_BYTES
from mdmem.files.read import Read, Reader, read
from mdmem.files.scan import WHOLE_SCAN_CODES, Found, Scan, look, scan

__all__ = [
    "CODES",
    "MAX_FILE_BYTES",
    "WHOLE_SCAN_CODES",
    "Found",
    "Read",
    "Reader",
    "Rules",
    "Scan",
    "birth",
    "file_system",
    "folded",
    "folder_identity",
    "from_printable",
    "is_memory_name",
    "load_rules",
    "look",
    "matters",
    "printable",
    "private_folder",
    "read",
    "real_folder",
    "scan",
    "shared_folder",
    "skip_folder",
]
