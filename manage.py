#!/usr/bin/env python
"""`dask-observatory` in a checkout."""

import sys

from observatory.runtime.command_line import main

if __name__ == "__main__":
    main(program=sys.argv[0])
