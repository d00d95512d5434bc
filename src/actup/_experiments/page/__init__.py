"""The page of results: its tables, pictures and notes, and the report that puts them together."""
