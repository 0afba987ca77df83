"""An executor that hears its commands on NATS, and opens, heartbeats and reports its calls over HTTP.

  python3 executor_nats.py --nats nats://127.0.0.1:4222 --url http://127.0.0.1:8099 --key tsk_… [--target words]
      [--project default] [--store store_…]

`--store` is for a broker that two stores share: the id of the one whose calls these are, as `tessera start` prints it.

The command is a notification: it names the call and carries the ticket. Opening the call is the claim; the command is
acknowledged right after it, whatever the answer, because from then on the database knows who has the call. Without an
answer the command is handed back and comes again; should it be lost, Tessera's sweeper rings again.
"""

import argparse
import json
import signal
import threading
import time

from edge import Edge, Refused, new_claim_id
from nats_commands import NatsCommands
from run_call import run_call

OPEN_PAUSES_S = (0.2, 1)
RECONNECT_S_MAX = 5


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nats", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--target", default="words")
    parser.add_argument("--project", default="default")
    parser.add_argument("--store")
    parser.add_argument("--heartbeat", type=float, default=5)
    options = parser.parse_args()

    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    signal.signal(signal.SIGINT, lambda *_: stopping.set())
    pause = 0.1
    while not stopping.is_set():
        try:
            commands = NatsCommands(options.nats, options.project, options.target, options.store)
            print(f"listening on {commands.durable}", flush=True)
            while not stopping.is_set():
                command = commands.fetch()
                pause = 0.1
                if command is not None:
                    handle(command, commands, options)
        except OSError as error:
            print(f"NATS is not there ({error}); connecting again", flush=True)
            stopping.wait(pause)
            pause = min(pause * 2, RECONNECT_S_MAX)


def handle(command, commands, options):
    # Identity is in subject and headers; the payload only points to the card.
    edge = Edge(options.url, options.key, project=options.project)
    call_id = command.headers.get("CG-Tool-Call-Id", "")
    call = None
    try:
        call = open_call(edge, call_id, command)
    except (ValueError, KeyError, TypeError):
        print(f"{call_id}: not a command", flush=True)
    except Refused as refused:
        print(f"{call_id}: not opened, {refused.code}", flush=True)
        if refused.is_passing:
            return commands.hand_back(command)
    except OSError as error:
        print(f"{call_id}: not opened, the API is not there ({error})", flush=True)
        return commands.hand_back(command)
    try:
        commands.ack(command)
    finally:  # a call that was opened is run, also when NATS has gone meanwhile
        if call is not None:
            run_call(edge, call, options.heartbeat)


def open_call(edge, call_id, command):
    card_id = json.loads(command.data)["tool_call_card_id"]
    ticket = command.headers.get("CG-Call-Ticket", "")
    claim_id = new_claim_id()
    for pause in OPEN_PAUSES_S:
        try:
            return edge.open(call_id, card_id, "python-nats", claim_id, ticket)
        except OSError:
            time.sleep(pause)
    return edge.open(call_id, card_id, "python-nats", claim_id, ticket)


if __name__ == "__main__":
    main()
