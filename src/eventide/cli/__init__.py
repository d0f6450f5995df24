"""The command `eventide`; importing this loads nothing, so that how the command is stopped can be settled first."""
