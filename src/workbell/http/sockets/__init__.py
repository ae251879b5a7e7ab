"""The WebSocket `/ws`: live views of runs, jobs and schedules, and people's own notifications."""
