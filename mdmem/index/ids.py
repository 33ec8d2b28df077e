"""How entries are numbered."""

FOLDER_BITS = 32  # entry ids of a folder: folder_id << 32 | n
