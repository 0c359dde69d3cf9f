"""What client code tells: its runs, the job of CI that it is of, and the code that submitted tasks."""
