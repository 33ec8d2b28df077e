"""mdmem: memory for coding agents, kept as markdown files. `mdmem.open()` is its door for programs."""

TYPE_CHECKING = False  # as in typing, which is not imported for it

if TYPE_CHECKING:
    from mdmem.door import Door as open  # noqa: N813  # a function to its callers

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def __getattr__(name: str) -> object:
    """`open` is found when it is asked for: `import mdmem` imports no room, and nothing inside is shadowed."""
    if name == "open":
        from mdmem.door import Door

        return Door
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
