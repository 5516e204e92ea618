#!/usr/bin/python3
"""bundle.py [--planned] OUT: joins openapi.yaml, paths/*.yaml and components/*.yaml into one JSON document.

paths/*.yaml are members of `paths`; components/*.yaml are members of `components` (schemas, parameters, …). References
are written as they stand in the result (#/components/…). A name that two files define, or a reference to
nothing, is an error.

What the server itself answers, before any handler, is added to every operation that doesn't tell it (COMMON below),
and the least role that may ask for it (`x-hawser-role`): viewer to read, operator to write, where it says nothing else.

What carries `x-hawser-status: planned` (a path, an operation, a parameter, a member of an object) is agreed on, but
no part of the program yet: it is left out, with the components that nothing else refers to. --planned keeps it.
"""
import json
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).parent
METHODS = ("get", "put", "post", "patch", "delete")

# (status, component, of which operations): a broken head or a body that is too large is refused everywhere.
COMMON = (
    ("400", "Malformed", lambda method, operation: True),
    ("401", "Unauthenticated", lambda method, operation: operation.get("security") != []),
    ("403", "Forbidden", lambda method, operation: operation.get("security") != []
     and (method != "get" or operation["x-hawser-role"] != "viewer")),
    ("412", "Stale", lambda method, operation: {"$ref": "#/components/parameters/if_match"} in operation.get("parameters", [])),
    ("413", "TooLarge", lambda method, operation: True),
    ("415", "UnsupportedMediaType", lambda method, operation: method == "post" or "requestBody" in operation),
    ("422", "Invalid", lambda method, operation: method == "post" or "requestBody" in operation),
    ("429", "RateLimited", lambda method, operation: operation.get("security") != []),
    ("503", "Unavailable", lambda method, operation: True),
)


def load(path):
    with path.open(encoding="utf-8") as file:
        return yaml.safe_load(file) or {}


def merge(into, part, path):
    for name, value in part.items():
        if name in into:
            sys.exit(f"{path}: {name} is defined twice")
        into[name] = value


def references(node):
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def resolves(document, reference):
    node = document
    for step in reference.removeprefix("#/").split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or step not in node:
            return False
        node = node[step]
    return reference.startswith("#/")


def is_planned(node):
    return isinstance(node, dict) and node.get("x-hawser-status") == "planned"


def without_planned(node):
    """A copy without what is planned; a member of an object leaves `required` too."""
    if isinstance(node, list):
        return [without_planned(value) for value in node if not is_planned(value)]
    if not isinstance(node, dict):
        return node
    kept = {key: without_planned(value) for key, value in node.items() if not is_planned(value)}
    if isinstance(node.get("required"), list) and "properties" in node:
        planned = {name for name, member in node["properties"].items() if is_planned(member)}
        kept["required"] = [name for name in node["required"] if name not in planned]
    return kept


def reachable(document):
    """(section, name) of every component that the paths lead to."""
    seen, rest = set(), [document["paths"]]
    while rest:
        for reference in references(rest.pop()):
            section, name = reference.removeprefix("#/components/").split("/")[:2]
            if (section, name) not in seen:
                seen.add((section, name))
                rest.append(document["components"][section][name])
    return seen


def present(document):
    """The document of what the program does."""
    document = without_planned(document)
    document["paths"] = {path: item for path, item in document["paths"].items() if item.keys() & set(METHODS)}
    used = reachable(document)
    for section, members in document["components"].items():
        if section != "securitySchemes":
            document["components"][section] = {n: m for n, m in members.items() if (section, n) in used}
    return document


def add_role(method, operation):
    usual = "public" if operation.get("security") == [] else "viewer" if method == "get" else "operator"
    operation.setdefault("x-hawser-role", usual)


def add_common(document):
    for item in document["paths"].values():
        for method in METHODS:
            if method not in item:
                continue
            add_role(method, item[method])
            responses = item[method]["responses"]
            for status, component, applies in COMMON:
                if applies(method, item[method]):
                    responses.setdefault(status, {"$ref": f"#/components/responses/{component}"})
            item[method]["responses"] = dict(sorted(responses.items()))


def bundle(planned=False):
    document = load(HERE / "openapi.yaml")
    document["paths"] = {}
    document["components"] = document.get("components", {})
    for path in sorted((HERE / "paths").glob("*.yaml")):
        merge(document["paths"], load(path), path)
    for path in sorted((HERE / "components").glob("*.yaml")):
        for section, members in load(path).items():
            merge(document["components"].setdefault(section, {}), members, path)
    add_common(document)
    for reference in references(document):
        if not resolves(document, reference):
            sys.exit(f"{reference}: refers to nothing")
    return document if planned else present(document)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--planned"]
    if len(words) != 1:
        sys.exit(__doc__)
    text = json.dumps(bundle("--planned" in sys.argv), separators=(",", ":"), ensure_ascii=False)
    pathlib.Path(words[0]).write_text(text, encoding="utf-8")
