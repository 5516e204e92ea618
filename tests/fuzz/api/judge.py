"""Whether an answer may be given to a request."""
import json

import jsonschema

import compose

PROBLEM = {"$ref": "#/components/schemas/Problem"}


def is_json(kind):
    """One document; lines of JSON (application/x-ndjson) are text here."""
    return kind == "application/json" or kind.endswith("+json")


class Fault(Exception):
    """An answer that may not be."""


class Judge:
    def __init__(self, document):
        self.document = document
        self.validators = {}

    def whole(self, node):
        """The schema with its references followed: nothing in the document refers to itself."""
        if isinstance(node, list):
            return [self.whole(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = self.document.document
            for step in node["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            return self.whole(target)
        return {key: self.whole(value) for key, value in node.items()}

    def validate(self, schema, value):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft202012Validator(self.whole(schema), format_checker=jsonschema.FormatChecker())
        error = next(self.validators[key].iter_errors(value), None)
        if error:
            raise Fault(f"not as documented at {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")

    def problem(self, answer, schema=PROBLEM):
        self.validate(schema, answer.json)
        if answer.json["status"] != answer.status or answer.json["request_id"] != answer.headers["X-Request-Id"]:
            raise Fault("the problem tells another status or request id than the head")

    def read(self, answer):
        if is_json(answer.kind) and answer.body:
            try:
                answer.json = json.loads(answer.body)
            except ValueError as error:
                raise Fault(f"no JSON: {error}") from error

    def judge(self, request, answer):
        self.read(answer)
        if answer.status >= 500 and not (request.broken and answer.status == 505):
            raise Fault("the server failed")
        if request.broken or (request.is_long and answer.status in (414, 431)):
            self.judge_broken(request, answer)
            return
        method = "GET" if request.method == "HEAD" else request.method
        path, operation = self.document.find(method, request.path)
        if operation is None:
            if answer.status not in (400, 404, 405, 413):
                raise Fault("neither documented nor refused")
            documented = None
        else:
            documented = operation["responses"].get(str(answer.status))
            if documented is None:
                raise Fault(f"{answer.status} is not documented")
        if request.method == "HEAD":
            if answer.body:
                raise Fault("a body for HEAD")
            return
        if answer.status >= 400 and path != "/readyz":
            if answer.kind != "application/problem+json":
                raise Fault("no problem+json")
            content = self.document.resolve(documented)["content"] if documented else {answer.kind: {"schema": PROBLEM}}
            self.problem(answer, content[answer.kind]["schema"])
            return
        self.judge_content(self.document.resolve(documented).get("content"), answer)

    def judge_broken(self, request, answer):
        if answer.status not in compose.ANSWERED_BY_THE_LIBRARY:
            raise Fault("a broken head was taken")
        if not answer.closes and not (request.broken or "").endswith("in the query"):
            raise Fault("the connection goes on after a broken head")
        if answer.kind == "application/problem+json" and request.method != "HEAD":
            self.problem(answer)

    def judge_content(self, content, answer):
        if not content:
            if answer.body:
                raise Fault("a body where none is documented")
            return
        if answer.kind not in content:
            raise Fault(f"content type {answer.kind} is not documented")
        if is_json(answer.kind):
            self.validate(content[answer.kind]["schema"], answer.json)
