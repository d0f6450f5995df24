"""What people look at: rows as text and files, and timelines."""
