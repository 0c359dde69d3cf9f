"""The audit log: who did what, from where, with values before and after."""
