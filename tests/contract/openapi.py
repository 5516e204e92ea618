"""The OpenAPI document as a judge of replies."""
import re

import jsonschema


class Document:
    def __init__(self, document):
        self.document = document
        self.operations = {}
        for path, item in document["paths"].items():
            pattern = re.compile("^" + re.sub(r"\{[^}]+\}", "[^/]+", path) + "$")
            for method in ("get", "post", "patch", "delete", "put"):
                if method in item:
                    self.operations[method.upper(), path] = (pattern, item[method])

    def find(self, method, path):
        path = path.split("?")[0]
        for (known_method, known), (pattern, operation) in self.operations.items():
            if known_method == method and pattern.match(path):
                return known, operation
        return None, None

    def resolve(self, node):
        while "$ref" in node:
            reference, node = node["$ref"], self.document
            for step in reference.removeprefix("#/").split("/"):
                node = node[step]
        return node

    def validate(self, schema, value):
        # References are relative to the whole document.
        jsonschema.Draft202012Validator({**self.document, **schema}, format_checker=jsonschema.FormatChecker()).validate(value)

    def check(self, method, path, reply):
        """The reply's status is documented for the operation, and its body is as its schema says."""
        known, operation = self.find(method, path)
        if operation is None:  # an undocumented path or method: refused with a problem
            assert reply.status in (404, 405), f"{method} {path} is not documented: {reply}"
            self.validate({"$ref": "#/components/schemas/Problem"}, reply.json)
            return
        documented = operation["responses"].get(str(reply.status))
        assert documented, f"{method} {known} answers {reply.status}, which is not documented: {reply}"
        content = self.resolve(documented).get("content")
        if not content:
            assert reply.body == b"", f"{method} {known}: a body where none is documented"
            return
        kind = (reply.headers["Content-Type"] or "").split(";")[0]
        assert kind in content, f"{method} {known}: content type {kind}"
        if re.search("[/+]json$", kind):
            self.validate(content[kind]["schema"], reply.json)
