"""Job files: every `jobs/**/*.py` of a project is one job. Found, loaded from source, checked, reloaded, watched."""

from workbell.job_files.job_file import DEFAULT_RETRY, FileProblem, FolderChange, JobFile, Loaded
from workbell.job_files.load import JobFiles, check_folder, load_folder
from workbell.job_files.reloads import Reload, Reloads
from workbell.job_files.watch import FileWatch

__all__ = [
    "DEFAULT_RETRY",
    "FileProblem",
    "FileWatch",
    "FolderChange",
    "JobFile",
    "JobFiles",
    "Loaded",
    "Reload",
    "Reloads",
    "check_folder",
    "load_folder",
]
