"""Runs a call that blocks in a thread, so that no event loop waits for it: asyncio's, or trio's where that one runs."""

import asyncio
import sys


async def off_loop(call, *arguments):
    trio = sys.modules.get("trio")
    if trio is not None and _in_trio(trio):
        return await trio.to_thread.run_sync(call, *arguments, abandon_on_cancel=True)
    return await asyncio.to_thread(call, *arguments)


def _in_trio(trio):
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True
