"""`workbell probe`: asks the probe listener of a service on this machine, for exec probes of containers."""

from __future__ import annotations

import click

from workbell.cli.output import echo
from workbell.errors import SettingsError
from workbell.model.listen_address import ListenAddress, read_listen_address
from workbell.settings import find_file, load

DEADLINE = 5.0  # seconds


@click.command(help="Ask a worker on this machine whether it is ready to take runs; exit code 0 or 1, for containers.")
@click.option("--address", metavar="HOST:PORT", help="Where it answers probes; otherwise the setting `probe`.")
@click.option("--live", is_flag=True, help="Ask whether it is alive, ready or not.")
@click.pass_context
def probe(context: click.Context, address: str | None, live: bool) -> None:
    named = address or load(file=find_file()).probe
    if named is None:
        raise SettingsError(
            "No probe is set up here; start the service with --probe 127.0.0.1:8322 or WORKBELL_PROBE, and give that "
            "address to this command as well."
        )
    is_well, sentence = ask(read_listen_address(named).from_here, "/livez" if live else "/readyz")
    echo(sentence, err=not is_well)
    if not is_well:
        context.exit(1)


def ask(address: ListenAddress, path: str) -> tuple[bool, str]:
    """Whether the answer is a yes, and the answer as a sentence."""
    from http.client import HTTPConnection, HTTPException

    import msgspec

    connection = HTTPConnection(address.host, address.port, timeout=DEADLINE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        page = msgspec.json.decode(answer.read(), type=dict[str, str])
    except (OSError, HTTPException, msgspec.DecodeError) as error:
        return False, f"no answer from {address}{path}: {error or type(error).__name__}"
    finally:
        connection.close()
    status, detail = page.get("status", "unknown"), page.get("detail")
    return answer.status == 200, status if detail is None else f"{status}: {detail}"
