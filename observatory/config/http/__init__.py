"""The HTTP of the web process below Django: its protocol, the limits of bodies, a site below a path."""
