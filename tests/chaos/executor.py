"""The Python tool service of a chaos run: examples/python-executor as it is, with tools that write to the ledger.

  python3 executor.py EXAMPLE_DIRECTORY --url … --key … --target edge
"""

import json
import os
import sys
import time

sys.path.insert(0, sys.argv.pop(1))

import executor_http  # noqa: E402
import tools  # noqa: E402


def act(tool):
    def run(call):
        time.sleep(0.02)
        entry = {
            "tool_call_id": call.tool_call_id,
            "tool": tool,
            "key": call.idempotency_key,
            "attempt": call.attempt,
            "pid": os.getpid(),
        }
        ledger = os.open(os.path.join(call.arguments["place"], "effects.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(ledger, (json.dumps(entry) + "\n").encode())
        os.fsync(ledger)
        os.close(ledger)
        return {"tool": tool, "attempt": call.attempt}

    return run


tools.TOOLS.update({name: act(name) for name in ("edge__idempotent", "edge__once")})
executor_http.main()
