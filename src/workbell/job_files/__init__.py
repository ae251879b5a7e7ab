"""Job files: every `jobs/**/*.py` of a project is one job. Found, loaded from source, checked, reloaded, watched."""

from workbell.job_files.job_file import DEFAULT_RETRY, Change, JobFile, Loaded, Problem
from workbell.job_files.load import JobFiles, check_folder, load_folder
from workbell.job_files.reloads import Reload, Reloads
from workbell.job_files.watch import Watch

__all__ = [
    "DEFAULT_RETRY",
    "Change",
    "JobFile",
    "JobFiles",
    "Loaded",
    "Problem",
    "Reload",
    "Reloads",
    "Watch",
    "check_folder",
    "load_folder",
]
