"""A process that tails a folder until it is killed: `python -m tests.activity.tailing FOLDER [DIE_AT]`.

With DIE_AT it kills itself, as `kill -9` does, before the statement of that number that changes the ledger.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.activity.part import Bench

CHANGES = ("BEGIN", "COMMIT", "INSERT", "DELETE")


def main() -> None:
    bench = Bench(Path(sys.argv[1]), met=False)
    left = int(sys.argv[2]) if len(sys.argv) > 2 else -1

    def count(cursor: object, sql: str, bindings: object) -> bool:
        nonlocal left
        if sql.startswith(CHANGES):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return True

    bench.ledger.db.exec_trace = count  # type: ignore[assignment]
    bench.tail.list_logs()
    bench.poll()
    print(left)


if __name__ == "__main__":
    main()
