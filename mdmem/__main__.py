"""The program `mdmem`, also as `python -m mdmem`. What agents start each turn goes past the command line's imports."""

import sys


def main() -> int:
    """Run the command line of this process; the exit code."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from mdmem.agents.hook import main as hook

        hook(sys.argv[2:])
    if sys.argv[1:] == ["mcp"]:
        from mdmem.agents.pipe import main as mcp

        return mcp()
    from mdmem.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
