"""The operator of `ev.detect`: programs, partial matches, rows."""
