"""As much of curl as the pages use, for a machine that has none. A script."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import httpx2


def main() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    for flag in ("-s", "-i", "-N"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("-X", dest="method")
    parser.add_argument("-H", dest="headers", action="append", default=[])
    parser.add_argument("-d", "--data-binary", dest="data")
    parser.add_argument("-o", dest="output")
    parser.add_argument("-w", dest="write", default="")
    parser.add_argument("--max-time", type=float, default=60)
    parser.add_argument("url")
    asked = parser.parse_args()
    headers = dict(header.split(": ", 1) for header in asked.headers)
    data = asked.data
    if data is not None:
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        data = Path(data[1:]).read_bytes() if data.startswith("@") else data.encode()
    method = asked.method or ("GET" if data is None else "POST")
    answer = httpx2.request(method, asked.url, headers=headers, content=data, timeout=asked.max_time, trust_env=False)
    head = f"HTTP/1.1 {answer.status_code} {answer.reason_phrase}\n" if asked.i else ""
    head += "".join(f"{name}: {value}\n" for name, value in answer.headers.items()) + "\n" if asked.i else ""
    text = head + answer.text
    if asked.output is None:
        sys.stdout.write(text)
    else:
        Path(asked.output).write_text(text, "utf-8")
    sys.stdout.write(asked.write.replace("%{http_code}", str(answer.status_code)).replace("\\n", "\n"))


if __name__ == "__main__":
    main()
