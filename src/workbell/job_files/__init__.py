"""Job files: every `jobs/**/*.py` of a project is one job: search, load from source, checks, reload, watch."""

from workbell.job_files.job_file import DEFAULT_RETRY, FileProblem, FolderChange, JobFile
from workbell.job_files.load import JobFiles
from workbell.job_files.reloads import Reloads
from workbell.job_files.watch import FileWatch

__all__ = [
    "DEFAULT_RETRY",
    "FileProblem",
    "FileWatch",
    "FolderChange",
    "JobFile",
    "JobFiles",
    "Reloads",
]
