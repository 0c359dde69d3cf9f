"""Workers that came, left, died, or were slower than others."""
