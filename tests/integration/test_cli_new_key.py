"""`workbell webhooks new-key` makes what the messages about sealed secrets ask for (C8)."""

from __future__ import annotations

from tests.integration.conftest import Folder
from tests.support.inside.features import KEY_COMMAND as COMMAND
from tests.support.inside.features import Sealer


def test_a_key_that_seals_and_opens(folder: Folder) -> None:
    done = folder.call(*COMMAND.split()[1:])
    (key,) = done.out.split()
    sealer = Sealer.from_setting(key)
    assert sealer.open(sealer.seal("whsec_x")) == "whsec_x"
    assert key not in done.error
