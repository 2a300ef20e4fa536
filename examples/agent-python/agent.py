#!/usr/bin/env python3
"""An agent in Python that speaks plain HTTP to Baton: it counts the words of a task's description.

    BATON_URL=http://localhost:8080 BATON_TOKEN=... BATON_WORKSPACE=<id> python3 agent.py [--once] [--mine]

Only the standard library is needed. It takes one task after another, of one workspace and with the label `count-words` only,
keeps its lease from a second thread, and writes nothing once the lease may have expired. Ctrl-C releases its task. With
--mine it takes only tasks that are assigned to it.
"""
import http.client
import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

URL = os.environ["BATON_URL"].rstrip("/")
WORKSPACE = os.environ["BATON_WORKSPACE"]
LABEL = "count-words"
LEASE_SECONDS = 30
CALL_SECONDS = 10
ATTEMPTS = 3
ANSWER_BYTES_MAX = 10_000_000
AWAY = (OSError, http.client.HTTPException)


class Refused(Exception):
    """An error response of Baton; `code` is the reason."""

    def __init__(self, status, code, message):
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code = status, code


class Baton:
    """Calls of the API, each repeated under one idempotency key when the network or the service fails."""

    def __init__(self, token):
        self._token, self._access, self._until = token, None, 0.0
        self._lock = threading.Lock()

    def call(self, method, path, body=None):
        headers = {}
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        for attempt in range(ATTEMPTS):
            try:
                headers["Authorization"] = "Bearer " + self._access_token()
                return request(method, URL + "/api/v1" + path, body, headers)
            except (Refused, *AWAY) as error:
                if isinstance(error, Refused) and error.status < 500 and error.status != 429:
                    raise
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(2**attempt * 0.2)

    def _access_token(self):
        """An access token is valid for minutes: a new one is requested after 80 % of its lifetime."""
        with self._lock:
            if time.monotonic() >= self._until:
                body = {"token": self._token, "audience": "control-plane"}
                issued = request("POST", URL + "/iam/api/v1/platform-access-tokens:exchange", body, {})
                self._access = issued["accessToken"]
                self._until = time.monotonic() + issued["expiresIn"] * 0.8
            return self._access


def request(method, url, body, headers):
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers}, method=method)
    try:
        with urllib.request.urlopen(sent, timeout=CALL_SECONDS) as answer:
            text = answer.read(ANSWER_BYTES_MAX)
            return json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        try:
            said = json.loads(error.read(ANSWER_BYTES_MAX))
            said = said.get("error", said)
        except ValueError:
            said = {}
        raise Refused(error.code, said.get("code", "unknown"), said.get("message", "")) from None


class Lease:
    """A claimed task. A thread extends session and claim; `is_live` uses this machine's monotonic clock."""

    def __init__(self, baton, session, claim, granted_at):
        self._baton, self._session, self._claim = baton, session, claim
        self._until = granted_at + LEASE_SECONDS
        self._ended = threading.Event()
        threading.Thread(target=self._keep, daemon=True).start()

    def is_live(self):
        return not self._ended.is_set() and time.monotonic() < self._until

    def end(self):
        self._ended.set()

    def _keep(self):
        wait = LEASE_SECONDS / 3
        while not self._ended.wait(wait):
            sent_at = time.monotonic()
            try:
                for path in (f"/sessions/{self._session}:heartbeat", f"/claims/{self._claim}:heartbeat"):
                    self._baton.call("POST", path, {"ttlSeconds": LEASE_SECONDS})
                self._until = sent_at + LEASE_SECONDS
                wait = LEASE_SECONDS / 3
            except Refused as refused:
                if refused.status in (403, 404, 409):
                    return self._ended.set()
                wait = 1
            except AWAY:
                wait = 1


def take_next(baton, session):
    """Claims the most urgent task with this agent's label. Returns the task, the claim and the time of its request; or None."""
    mine = "&assignedToMe=true" if "--mine" in sys.argv else ""
    available = baton.call("GET", f"/work/available?workspaceId={WORKSPACE}&limit=200{mine}")
    for task in available["items"]:
        if LABEL not in (task["customFields"].get("labels") or []):
            continue
        granted_at = time.monotonic()
        try:
            wanted = {"sessionId": session, "ttlSeconds": LEASE_SECONDS, "intent": "count its words"}
            return task, baton.call("POST", f"/tasks/{task['id']}:claim", wanted), granted_at
        except Refused as refused:
            # Another agent was faster, or somebody has changed the task: the next one may be free.
            if refused.status not in (404, 409, 422):
                raise
    return None


def start_run(baton, task, claim):
    """A registered agent names its current revision in each run. If a new one was published meanwhile, it is read once more."""
    held = {"claimId": claim["id"], "fencingToken": claim["fencingToken"]}
    for is_last in (False, True):
        try:
            return baton.call("POST", f"/tasks/{task['id']}:start-run", {**held, **own_revision(baton)})
        except Refused as refused:
            if refused.code != "agent_revision_mismatch" or is_last:
                raise


def own_revision(baton):
    try:
        return {"agentRevisionId": baton.call("GET", "/agents/me")["revision"]["id"]}
    except Refused as refused:
        # A principal that isn't a registered agent has none.
        if refused.status == 404:
            return {}
        raise


def do_next(baton, session):
    """Takes one task and does it. Returns whether there was one."""
    taken = take_next(baton, session)
    if taken is None:
        return False
    task, claim, granted_at = taken
    lease = Lease(baton, session, claim["id"], granted_at)
    run = None
    try:
        run = start_run(baton, task, claim)
        print(f"{task['publicId']} begins: {task['title']}", flush=True)
        words = count_words(task["description"], lease)
        if not lease.is_live():
            print(f"{task['publicId']} is lost", flush=True)
            return True
        baton.call("POST", f"/runs/{run['id']}/checkpoints", {"kind": "counted", "data": {"words": words}})
        baton.call("POST", f"/runs/{run['id']}:succeed", {"output": {"words": words}})
        print(f"{task['publicId']} done: {words} words", flush=True)
    except Refused as refused:
        print(f"{task['publicId']} could not be done: {refused}", flush=True)
        give_back(baton, claim, run, str(refused))
    finally:
        lease.end()
    return True


def give_back(baton, claim, run, reason):
    """Ends the run as failed, so that Baton offers the task again after a pause. Does nothing if it has ended meanwhile."""
    try:
        if run is not None:
            baton.call("POST", f"/runs/{run['id']}:fail", {"failureReason": reason})
    except Refused:
        pass
    try:
        baton.call("POST", f"/claims/{claim['id']}:release", {"reason": "could not be done"})
    except Refused:
        pass


def count_words(text, lease):
    words = 0
    for line in (text or "").splitlines():
        # Longer work checks its lease regularly, and stops when it may have expired.
        if not lease.is_live():
            break
        words += len(line.split())
    return words


def main():
    baton = Baton(os.environ["BATON_TOKEN"])
    body = {"clientName": "word counter", "ttlSeconds": LEASE_SECONDS, "harness": {"type": "word-counter"}}
    session = baton.call("POST", "/sessions", body)["id"]
    # Its end releases all claims.
    try:
        kept_at = time.monotonic()
        while True:
            try:
                if do_next(baton, session):
                    continue
                if "--once" in sys.argv:
                    return
                if time.monotonic() - kept_at > LEASE_SECONDS / 3:
                    baton.call("POST", f"/sessions/{session}:heartbeat", {"ttlSeconds": LEASE_SECONDS})
                    kept_at = time.monotonic()
            except AWAY as error:
                print(f"Baton can't be reached: {error}", flush=True)
            time.sleep(2)
    except KeyboardInterrupt:
        pass
    finally:
        baton.call("POST", f"/sessions/{session}:close", {})


main()
