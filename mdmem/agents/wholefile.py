"""A file that belongs to mdmem alone, in an agent's folder of plugins: its bytes out."""

from __future__ import annotations

from dataclasses import dataclass

from mdmem.errors import ConfigError


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file of ours, from whatever version: `mark` stands in all of them, and in no file of others."""

    data: bytes
    mark: bytes

    def put(self, data: bytes | None) -> bytes:
        """Our bytes. ConfigError where a file of others has that name."""
        if data is not None and self.mark not in data:
            raise ConfigError("a file of this name is there, and it is not mdmem's", hint="move it away")
        return self.data

    def drop(self, data: bytes) -> bytes | None:
        """None where it is ours."""
        return None if self.mark in data else data
