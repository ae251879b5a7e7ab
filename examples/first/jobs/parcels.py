"""Counts the parcels that went out in the last minute: a job file, beside the jobs of shop.py."""

from datetime import UTC, datetime, timedelta

from shop import bell

schedule = "*/10 * * * * *"  # every 10 seconds; change it while `workbell dev` is running


def run():
    since = datetime.now(UTC) - timedelta(minutes=1)
    sent = bell.runs(job="send_parcel", status="succeeded", limit=1000)
    return f"{sum(run.finished_at > since for run in sent)} parcels in the last minute"
