"""The controller's REST API as an automation would use it: TLS with the CA file, a Bearer token."""
import http.client
import json
import ssl
import urllib.parse

import netns
from netns import LabError


class RestError(LabError):
    """An answer other than the one wanted; `problem` is the decoded problem+json."""

    def __init__(self, method, path, status, problem):
        self.status = status
        self.problem = problem
        detail = problem.get("detail") or problem.get("title") or "" if isinstance(problem, dict) else problem
        field = problem.get("field") if isinstance(problem, dict) else None
        super().__init__(f"{method} {path}: {status} {detail}" + (f" (field {field})" if field else ""))


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body) if self.body else None


class Api:
    """`ns` is the namespace in which the controller's address can be reached."""

    def __init__(self, ns, url, token, ca_file, timeout=10, client_cert=None):
        parts = urllib.parse.urlsplit(url)
        self.ns = ns
        self.address = (parts.hostname, parts.port)
        self.token = token
        self.timeout = timeout
        self.context = ssl.create_default_context(cafile=str(ca_file)) if ca_file else ssl._create_unverified_context()
        if client_cert:
            self.context.load_cert_chain(*client_cert)

    def raw(self, method, path, body=None, headers=None):
        """One request, any answer. `body`: bytes, or an object sent as JSON."""
        connection = http.client.HTTPSConnection(*self.address, context=self.context, timeout=self.timeout)
        connection._create_connection = lambda address, *_: netns.connect(self.ns, address, self.timeout)
        send = dict(headers or {})
        if self.token:
            send.setdefault("Authorization", "Bearer " + self.token)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            send.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body=body, headers=send)
            reply = connection.getresponse()
            return Answer(reply.status, reply.headers, reply.read())
        except http.client.HTTPException as error:
            raise OSError(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()

    def call(self, method, path, body=None, headers=None):
        """The decoded answer; anything but 2xx is a RestError."""
        answer = self.raw(method, path, body, headers)
        if not 200 <= answer.status < 300:
            try:
                problem = answer.json or {}
            except ValueError:
                problem = answer.body[:200].decode(errors="replace")
            raise RestError(method, path, answer.status, problem)
        return answer.json

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=None):
        return self.call("POST", path, body)

    def patch(self, path, body):
        """Reads the object for its ETag first: a lost update is refused, not made."""
        etag = self.raw("GET", path).headers.get("ETag")
        return self.call("PATCH", path, body, {"If-Match": etag} if etag else None)

    def delete(self, path):
        etag = self.raw("GET", path).headers.get("ETag")
        return self.call("DELETE", path, None, {"If-Match": etag} if etag else None)

    def list(self, path):
        """All pages."""
        items, cursor = [], None
        while True:
            query = f"?limit=200" + (f"&cursor={urllib.parse.quote(cursor)}" if cursor else "")
            page = self.get(path + query)
            items += page["items"]
            cursor = page.get("next_cursor")
            if not cursor:
                return items
