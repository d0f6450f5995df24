"""Events of a stream that came too late for any query."""
