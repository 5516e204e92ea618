"""The OpenAPI document against the route table, both ways, and against the limits that the code knows."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

from controller import BINARY, BUILD, ROOT
from openapi import Document

sys.path.insert(0, str(ROOT / "schema" / "openapi"))
import bundle

DOCUMENT = json.loads((BUILD / "controller" / "openapi.json").read_text())
AGREED = bundle.bundle(planned=True)  # with what is agreed on and not built yet


def routes():
    """{(method, path): role} of the people's listener."""
    done = subprocess.run([str(BINARY), "--print-routes"], capture_output=True, text=True, check=True, timeout=10)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {(method, path): role for listener, method, path, role in rows if listener == "people"}


def operations(document=None):
    return {(method.upper(), path): operation for path, item in (document or DOCUMENT)["paths"].items()
            for method, operation in item.items() if method in ("get", "post", "put", "patch", "delete")}


def examples(document):
    """(where, schema, example) of every example that stands beside a schema."""
    for name, schema in document["components"]["schemas"].items():
        for example in schema.get("examples", []):
            yield name, {"$ref": f"#/components/schemas/{name}"}, example


def limit(name):
    text = (ROOT / "common" / "limits.h").read_text()
    return int(re.search(rf"#define {name}\s+(\d+)", text)[1])


class OpenApi(unittest.TestCase):
    def test_every_route_is_documented(self):
        self.assertEqual(sorted(set(routes()) - set(operations())), [])

    def test_every_operation_has_a_route(self):
        self.assertEqual(sorted(set(operations()) - set(routes())), [])

    def test_public_routes_need_no_token_and_no_others(self):
        roles = routes()
        for key, operation in operations().items():
            self.assertEqual(operation.get("security") == [], roles[key] == "public", key)

    def test_operation_ids_are_unique(self):
        ids = [operation["operationId"] for operation in operations(AGREED).values()]
        self.assertEqual(len(ids), len(set(ids)))

    def test_what_is_made_twice_takes_a_key(self):
        """Each POST takes an Idempotency-Key, but for those that come to the same when sent again, and the one that answers a secret alone."""
        without = {operation["operationId"] for (method, _), operation in operations(AGREED).items()
                   if method == "POST" and {"$ref": "#/components/parameters/idempotency_key"} not in operation.get("parameters", [])}
        self.assertEqual(without, {"sessions_create", "plan_preview", "revisions_accept", "operations_cancel"})

    def test_names_follow_the_conventions(self):
        for path in AGREED["paths"]:
            self.assertRegex(re.sub(r"\{[a-z_]+\}", "x", path), r"^(/[a-z0-9.-]+)+$")
        for name, schema in AGREED["components"]["schemas"].items():
            for member in schema.get("properties", {}):
                self.assertRegex(member, r"^[a-z][a-z0-9_]*$", name)

    def test_objects_are_closed(self):
        """A reply with a member that nobody documented must not pass."""
        for name, schema in AGREED["components"]["schemas"].items():
            if schema.get("type") == "object":
                self.assertIs(schema.get("additionalProperties"), False, name)

    def test_examples_fit_their_schemas(self):
        judge = Document(AGREED)
        for name, schema, example in examples(AGREED):
            with self.subTest(name):
                judge.validate(schema, example)

    def test_what_is_planned_is_not_served(self):
        self.assertTrue(DOCUMENT == bundle.bundle())
        self.assertFalse("x-hawser-status" in json.dumps(DOCUMENT))
        self.assertLessEqual(set(operations()), set(operations(AGREED)))

    def test_limits_are_those_of_the_code(self):
        schemas = DOCUMENT["components"]["schemas"]
        self.assertEqual(schemas["TunnelsOrNull"]["maximum"], limit("HW_TUNNELS_PER_LINK_MAX"))
        self.assertEqual(schemas["Site"]["properties"]["cidrs"]["maxItems"], limit("HW_SITE_CIDRS_MAX"))
        self.assertEqual(schemas["Gateway"]["properties"]["endpoints"]["maxItems"], limit("HW_ENDPOINTS_MAX"))
        self.assertEqual(schemas["PortBase"]["default"], limit("HW_PORT_BASE_DEFAULT"))
        self.assertEqual(schemas["PortBase"]["maximum"], 65536 - limit("HW_PORTS_PER_GATEWAY"))

    def test_suites_are_those_of_the_code(self):
        text = (pathlib.Path(ROOT) / "common" / "esp_suite.c").read_text()
        named = re.findall(r'"([a-z0-9-]+-gcm)"', text)
        self.assertEqual(sorted(DOCUMENT["components"]["schemas"]["Suites"]["items"]["enum"]), sorted(set(named)))


if __name__ == "__main__":
    unittest.main()
