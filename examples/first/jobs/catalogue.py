"""Prints the catalogue, a page a second: open one of its runs in the dashboard, and watch."""

import asyncio

schedule = "*/30 * * * * *"  # every 30 seconds
pages = 12


async def run(ctx):
    ctx.logger.info(f"printing {pages} pages")
    for page in range(pages):
        ctx.progress(page, pages, f"page {page + 1} of {pages}")
        await asyncio.sleep(1)
    return f"{pages} pages"
