"""How readers get at records, archived ones too: brought back, or scanned in files."""
