"""A picture of what happened in one partition: situations, events, matches and their detection instants."""

from eventide.show.timeline.build import timeline
from eventide.show.timeline.page import Timeline

__all__ = ["Timeline", "timeline"]
