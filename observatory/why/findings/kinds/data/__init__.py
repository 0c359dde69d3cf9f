"""The data of tasks: where it is, what moves it, and what is computed again."""
