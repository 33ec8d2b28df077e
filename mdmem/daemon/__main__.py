"""`python -m mdmem.daemon`: the daemon without the command line's imports; what `mdmem up` starts."""

from __future__ import annotations

import sys


def main() -> int:
    from mdmem.app import App
    from mdmem.daemon import logs
    from mdmem.daemon.run import run
    from mdmem.db import is_disk_trouble
    from mdmem.errors import MdmemError

    app = App()
    try:
        if "--log-file" in sys.argv:
            app.prepare_folders()
            logs.to_file(app.paths.log)
        else:
            logs.to_stderr()
        return run(app)
    except Exception as raised:
        error = raised if isinstance(raised, MdmemError) else is_disk_trouble(raised)
        if error is None:
            raise
        sys.stderr.write(f"error: {error}\n" + (f"try:   {error.hint}\n" if error.hint else ""))
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
