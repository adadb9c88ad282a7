"""The protocol text, once more, in Python: shares no code, no data and no order of steps with the engine."""
