"""The WebSocket `/ws`: live views of runs, jobs, schedules, events and saved files, and people's own notifications."""
