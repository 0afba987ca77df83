"""An executor that needs only HTTP: it asks for calls, runs them, reports them.

  python3 executor_http.py --url http://127.0.0.1:8099 --key tsk_… [--project default] [--target words]
"""

import argparse
import signal
import threading
import time

from edge import Edge, Refused, new_claim_id
from run_call import run_call


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--project", default="default")
    parser.add_argument("--target", default="words")
    parser.add_argument("--heartbeat", type=float, default=5)
    options = parser.parse_args()

    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, lambda *_: stopping.set())
    edge = Edge(options.url, options.key, options.project)
    print(f"waiting for calls of {options.target}", flush=True)
    claim_id = new_claim_id()
    while not stopping.is_set():
        try:
            calls = edge.claim(options.target, "python-http", claim_id, wait_ms=5_000)
        except Refused as refused:
            if refused.status in (401, 403, 404):
                raise SystemExit(f"the API refused this executor: {refused}")
            time.sleep(1)
            continue
        except OSError as error:
            print(f"the API is not there ({error}); asking again", flush=True)
            time.sleep(1)
            continue
        claim_id = new_claim_id()  # only after an answer
        for call in calls:
            run_call(edge, call, options.heartbeat)


if __name__ == "__main__":
    main()
