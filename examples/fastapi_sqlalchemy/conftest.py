"""The tests run on a SQLite file of their own, unless the environment names a database."""

import os
from tempfile import TemporaryDirectory

folder = TemporaryDirectory()  # removed at the end
os.environ.setdefault("WORKBELL_URL", f"sqlite:///{folder.name}/shop.db")
os.environ.setdefault("SHOP_DATABASE", f"sqlite+aiosqlite:///{folder.name}/shop.db")
