"""Which collector observes which target."""
