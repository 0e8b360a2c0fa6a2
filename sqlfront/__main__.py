"""``python -m sqlfront`` and the ``sqlfront`` command."""

import sys

from sqlfront.shell.main import main

if __name__ == "__main__":
    sys.exit(main())
