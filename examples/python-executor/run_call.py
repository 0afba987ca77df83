"""Runs one call and reports it. The same whether the call was claimed over HTTP or came over NATS."""

import json
import threading
import time

from edge import Refused
from tools import TOOLS, ToolError

HEARTBEAT_S = 5
REPORT_TRIES = 8


def run_call(edge, call, heartbeat_s=HEARTBEAT_S):
    done = threading.Event()
    heart = threading.Thread(target=call.beat_until, args=(done, heartbeat_s), daemon=True)
    heart.start()
    try:
        report = _result_of(call)
        if call.canceled.is_set():
            print(f"{call.tool_call_id} {call.tool_name}: canceled", flush=True)
            return
        _send_report(edge, call, report)
    finally:
        done.set()


def _result_of(call):
    tool = TOOLS.get(call.tool_name)
    if tool is None:
        return _failed("not_found", f"this executor has no tool {call.tool_name}")
    try:
        result = tool(call)
    except ToolError as error:
        return _failed(error.code, str(error), error.retryable)
    except Exception as error:  # the tool's own fault: its type is safe to tell, its text may not be
        return _failed("internal_error", f"the tool failed with {type(error).__name__}")
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return _failed("result_not_serializable", f"the result is no JSON: {type(error).__name__}")
    return {"status": "success", "result": result}


def _failed(code, message, retryable=False):
    error = {"code": code, "message": message, "source": "tool", "retryable": retryable}
    return {"status": "failed", "error": error}


def _send_report(edge, call, report):
    """The work is done, so its answer must not be lost: a server that is away is asked again, and a result that it
    cannot take is followed by a report that says so."""
    pause = 0.2
    for attempt in range(REPORT_TRIES):
        try:
            answer = edge.report(call, report)
            print(f"{call.tool_call_id} {call.tool_name}: {report['status']}, {answer['outcome']}", flush=True)
            return
        except Refused as refused:
            if refused.status in (400, 413) and report["status"] == "success":
                report = _failed("result_not_serializable", f"the result was refused: {refused.code}")
                continue
            if not refused.is_passing:
                print(f"{call.tool_call_id} {call.tool_name}: refused, {refused.code}", flush=True)
                return
        except OSError:
            pass
        time.sleep(pause)
        pause = min(pause * 2, 5)
    print(f"{call.tool_call_id} {call.tool_name}: the report was not delivered", flush=True)
