"""The executor edge of Tessera over HTTP, with nothing but the standard library.

  claim      ask for calls of a target (long poll)
  open       claim the one call whose command came over NATS
  heartbeat  say that the call is still being worked on
  report     hand in the result

A call is held by its capability, a secret of this attempt that goes into a header and nowhere else.
A claim or an opening whose answer was lost is repeated with the same claim id: it is the same claim, made once.
"""

import http.client
import json
import threading
import urllib.error
import urllib.request
import uuid


def new_claim_id():
    return f"claim_{uuid.uuid4().hex}"


class Refused(Exception):
    """The API answered no. `code` says why (docs/reference/errors.md)."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        # Too many requests, a key that is not known just now, a server in trouble: nothing about the call.
        self.is_passing = status in (401, 429) or status >= 500


class Edge:
    def __init__(self, url, key, project="default"):
        self._base = f"{url.rstrip('/')}/projects/{project}"
        self._key = key

    def claim(self, target, executor, claim_id, max_calls=1, wait_ms=20_000):
        body = {"max": max_calls, "wait_ms": wait_ms, "executor": executor, "claim_id": claim_id}
        answer = self._post(f"/executors/{target}/claim", body, timeout=wait_ms / 1000 + 15)
        return [Call(self, call) for call in answer["calls"]]

    def open(self, tool_call_id, tool_call_card_id, executor, claim_id, ticket):
        body = {"tool_call_card_id": tool_call_card_id, "executor": executor, "claim_id": claim_id}
        return Call(self, self._post(f"/calls/{tool_call_id}/open", body, {"CG-Call-Ticket": ticket}))

    def heartbeat(self, call):
        return self._post(f"/calls/{call.tool_call_id}/heartbeat", {}, call.proof)

    def report(self, call, body):
        return self._post(f"/calls/{call.tool_call_id}/report", body, call.proof)

    def _post(self, path, body, headers=None, timeout=15):
        request = urllib.request.Request(
            self._base + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._key}", "Content-Type": "application/json", **(headers or {})},
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            problem = _read_problem(error)
            raise Refused(error.code, problem.get("error_code"), problem.get("error_message")) from None
        except (http.client.HTTPException, ValueError) as error:  # an answer that broke off
            raise ConnectionError(f"no whole answer: {type(error).__name__}") from None


class Call:
    """One attempt at one call."""

    def __init__(self, edge, answer):
        self.tool_call_id = answer["tool_call_id"]
        self.tool_name = answer["tool_name"]
        self.arguments = answer["arguments"]
        self.attempt = answer["attempt"]
        self.idempotency_key = answer["idempotency_key"]
        self.proof = {"CG-Report-Capability": answer["capability"]}
        # The report may carry the trace it belongs to; Tessera makes the span of the report itself.
        traceparent = answer["headers"].get("traceparent")
        if traceparent:
            self.proof["traceparent"] = traceparent
        self.canceled = threading.Event()
        self._edge = edge

    def beat_until(self, done, every_s):
        """The heartbeat, in a thread of its own. Told `cancel`, or that the call is lost, the tool should stop."""
        while not done.wait(every_s):
            try:
                if self._edge.heartbeat(self)["cancel"]:
                    self.canceled.set()
                    return
            except Refused as refused:
                if not refused.is_passing:
                    self.canceled.set()
                    return
            except OSError:
                pass  # not reached; the lease may still be ours


def _read_problem(error):
    try:
        return json.load(error)
    except ValueError:
        return {}
