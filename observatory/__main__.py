"""`python -m observatory` is the same as `dask-observatory`."""

from observatory.runtime.command_line import main

if __name__ == "__main__":
    main()
