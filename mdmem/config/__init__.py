"""Where things are and how they are set: the only room that reads the environment.

`paths` is cheap and needed by every command; `settings` reads the config file and is imported only where used.
"""

from mdmem.config.paths import Paths, find_paths

__all__ = ["Paths", "find_paths"]
