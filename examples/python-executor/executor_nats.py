"""An executor that hears its commands on NATS, and opens, heartbeats and reports its calls over HTTP.

  python3 executor_nats.py --nats nats://127.0.0.1:4222 --url http://127.0.0.1:8099 --key tsk_… [--target words]

The command is a doorbell: it names the call and carries the ticket. Opening the call is the claim; the command is
acknowledged right after it, whatever the answer, because from then on the database knows who has the call.
"""

import argparse
import json
import signal
import threading

from edge import Edge, Refused
from nats_commands import NatsCommands
from run_call import run_call


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nats", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--target", default="words")
    parser.add_argument("--heartbeat", type=float, default=5)
    options = parser.parse_args()

    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, lambda *_: stopping.set())
    commands = NatsCommands(options.nats, options.target)
    print(f"listening for commands of {options.target}", flush=True)
    while not stopping.is_set():
        command = commands.fetch()
        if command is None:
            continue
        # Identity is in subject and headers; the payload only points to the card.
        edge = Edge(options.url, options.key, project=command.subject.split(".")[2])
        call_id = command.headers.get("CG-Tool-Call-Id", "")
        try:
            card_id = json.loads(command.data)["tool_call_card_id"]
            call = edge.open(call_id, card_id, "python-nats", command.headers.get("CG-Call-Ticket", ""))
        except Refused as refused:
            print(f"{call_id}: not opened, {refused.code}", flush=True)
            continue
        except (ValueError, KeyError, TypeError):
            print(f"{call_id}: not a command", flush=True)
            continue
        finally:
            commands.ack(command)
        run_call(edge, call, options.heartbeat)


if __name__ == "__main__":
    main()
