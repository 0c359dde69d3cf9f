"""Places of requests, shared by project, so that none waits for all of another's."""
