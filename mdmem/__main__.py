"""`python -m mdmem`: the same as the command `mdmem`."""

import sys

from mdmem.cli import main

if __name__ == "__main__":
    sys.exit(main())
