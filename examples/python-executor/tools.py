"""The tools of this executor: plain functions from arguments to a JSON value.

A tool that fails raises ToolError; anything else it raises is reported as internal_error without its text, because
that text may hold what no model should read.
"""

import time


class ToolError(Exception):
    def __init__(self, code, message, retryable=False):
        super().__init__(message)
        self.code = code
        self.retryable = retryable


def count_words(call):
    text = call.arguments.get("text")
    if not isinstance(text, str):
        raise ToolError("bad_request", "text must be a string")
    words = text.split()
    return {"words": len(words), "longest": max(words, key=len, default="")}


def slow_echo(call):
    """Works in small pieces and looks at `call.canceled` between them: a canceled call should stop early."""
    until = time.monotonic() + float(call.arguments.get("seconds", 1))
    while time.monotonic() < until and not call.canceled.is_set():
        time.sleep(0.02)
    return {"text": call.arguments.get("text"), "attempt": call.attempt, "key": call.idempotency_key}


TOOLS = {
    "words__count": count_words,
    "words__echo": slow_echo,
}
