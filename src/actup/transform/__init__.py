"""New rows on a finished map."""
