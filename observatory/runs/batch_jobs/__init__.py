"""Jobs of batch systems in which the workers of a window ran: what they asked for, and what they used."""
