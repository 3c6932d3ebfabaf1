"""Threads, locks, asyncio and timers; an exception in a thread; a daemon that is left behind."""
import asyncio
import queue
import sys
import threading
import time


def worker(q, out):
    for item in iter(q.get, None):
        out.append(item * 2)


def failing():
    raise KeyError("in a thread")


async def child():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('child')", stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    return out, process.returncode


async def gathered():
    async def slow(n):
        await asyncio.sleep(0)
        return n
    return await asyncio.gather(*(slow(n) for n in range(5)), child())


q, out = queue.Queue(), []
threads = [threading.Thread(target=worker, args=(q, out), name=f"worker {i}") for i in range(8)]
for t in threads:
    t.start()
for n in range(100):
    q.put(n)
for t in threads:
    q.put(None)
for t in threads:
    t.join()
print(sorted(out) == [n * 2 for n in range(100)], threading.active_count())
t = threading.Thread(target=failing, name="the failing one")
t.start()
t.join()
print(asyncio.run(gathered()))
local = threading.local()
local.x = 3
print(local.x, threading.stack_size())
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
