"""Commands of a target from NATS JetStream, over a plain socket.

Only what an executor needs of the protocol: a durable pull consumer, messages with headers, acknowledgements.
JetStream keeps what comes while no executor listens; what it loses, Tessera's sweeper announces again.
"""

import json
import os
import socket
from urllib.parse import urlparse

STREAM = "cg_cmd_v1r4"
FETCH_NS = 5 * 10**9
AGAIN_NS = 10**9
NOTHING_CAME = ("404", "408")


class NatsCommands:
    """One connection. Whatever breaks it is an OSError; make another one then."""

    def __init__(self, url, project, target, store=None):
        place = urlparse(url)
        self._socket = socket.create_connection((place.hostname, place.port or 4222), timeout=30)
        self._stream = self._socket.makefile("rb")
        # The name that Tessera's own services of this target have: all who share it share the commands. Where two stores
        # share a broker, each has executors with a durable of their own, which pass over what the other store rings for.
        self.durable = f"tool_{target}_cmd_v1r4_{project}" + (f"_{store[-8:]}" if store else "")
        self._store = store
        self._subject = f"cg.v1r4.{project}.*.cmd.tool.{target}.>"
        self._inbox = f"_INBOX.{os.urandom(8).hex()}"
        self._line()  # INFO
        login = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "lang": "python", "version": "0"}
        if place.username:
            login.update({"user": place.username, "pass": place.password} if place.password else {"auth_token": place.username})
        self._send(f"CONNECT {json.dumps(login)}\r\nSUB {self._inbox}.* 1\r\nPING\r\n".encode())
        self._expect_pong()
        self._create_consumer()

    def fetch(self):
        """The next command, or None when none came for a while. `ack` or `hand_back` must follow."""
        request = json.dumps({"batch": 1, "expires": FETCH_NS}).encode()
        self._publish(f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{self.durable}", request, f"{self._inbox}.next")
        message = self._message()
        if message.subject.startswith("cg."):
            if self._store and message.headers.get("CG-Store-Id", self._store) != self._store:
                return self.ack(message)
            return message
        if message.status not in NOTHING_CAME:
            raise ConnectionError(f"NATS answered {message.status}: the consumer is gone")
        return None

    def ack(self, message):
        self._publish(message.reply, b"+ACK")

    def hand_back(self, message):
        self._publish(message.reply, b"-NAK " + json.dumps({"delay": AGAIN_NS}).encode())

    def _create_consumer(self):
        config = {
            "durable_name": self.durable,
            "ack_policy": "explicit",
            "filter_subject": self._subject,
            "deliver_policy": "all",
            "max_deliver": 3,
        }
        request = json.dumps({"stream_name": STREAM, "config": config}).encode()
        self._publish(f"$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.{self.durable}", request, f"{self._inbox}.create")
        data = self._message().data
        answer = json.loads(data) if data else {"error": {"description": "JetStream is not there"}}
        # Another member may have made it, with settings of its own.
        if "error" in answer and answer["error"].get("err_code") not in (10012, 10013, 10105, 10148):
            raise ConnectionError(f"NATS refused the consumer: {answer['error'].get('description')}")

    def _publish(self, subject, data, reply=""):
        self._send(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")

    def _send(self, data):
        self._socket.sendall(data)

    def _line(self):
        line = self._stream.readline()
        if line == b"":
            raise ConnectionError("NATS closed the connection")
        return line.decode().strip()

    def _expect_pong(self):
        line = self._line()
        while line != "PONG":
            if line.startswith("-ERR"):
                raise ConnectionError(f"NATS refused the connection: {line[5:]}")
            line = self._line()

    def _message(self):
        """The next MSG or HMSG; answers the server's PINGs on the way."""
        while True:
            parts = self._line().split(" ")
            if parts[0] == "PING":
                self._send(b"PONG\r\n")
            elif parts[0] in ("MSG", "HMSG"):
                return self._read_message(parts)
            elif parts[0] == "-ERR":
                raise ConnectionError(" ".join(parts))

    def _read_message(self, parts):
        has_headers = parts[0] == "HMSG"
        total = int(parts[-1])
        head = int(parts[-2]) if has_headers else 0
        reply = parts[3] if len(parts) == (6 if has_headers else 5) else ""
        block = self._stream.read(total + 2)[:total]
        if len(block) < total:
            raise ConnectionError("NATS closed the connection")
        status, headers = _headers(block[:head])
        return Message(parts[1], reply, status, headers, block[head:])


class Message:
    def __init__(self, subject, reply, status, headers, data):
        self.subject = subject
        self.reply = reply
        self.status = status
        self.headers = headers
        self.data = data


def _headers(block):
    first, *lines = block.decode().split("\r\n")  # NATS/1.0, and a status when it is no message
    pairs = (line.partition(":") for line in lines if line)
    return first[8:].strip()[:3], {name.strip(): value.strip() for name, _, value in pairs}
