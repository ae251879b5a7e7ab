"""The files of a new project."""

from __future__ import annotations

TOML = """\
# A project of Workbell. Every file in jobs/ is a job. Each setting can also be given as WORKBELL_<NAME>.

# url = "sqlite:///workbell.db"    # where runs and schedules are kept; or "postgresql://user@host/database"
# timezone = "Europe/Paris"        # of schedules that name none; otherwise the machine's
# app = "shop:bell"                # jobs declared in code: `bell = Workbell()` in shop.py
"""

HELLO = '''\
"""Says hello.

Change this file while `workbell dev` is running: the next run does what it says then.
"""

# When: second, minute, hour, day, month, weekday. This is every 2 seconds.
# With five fields it starts at the minute: "0 3 * * MON-FRI" is 03:00 on working days.
schedule = "*/2 * * * * *"


# What: an error is tried again, up to three times in all; what is returned is shown and kept.
def run(ctx):
    name = "world"
    return f"Hello, {name}!"
'''

GITIGNORE = """\
# What Workbell keeps here: the store, the application's own database, files.
*.db
*.db-wal
*.db-shm
*.db-lock
/storage/
__pycache__/
"""

FILES = {"workbell.toml": TOML, "jobs/hello.py": HELLO, ".gitignore": GITIGNORE}
