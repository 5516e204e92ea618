#!/usr/bin/python3
"""bundle.py OUT: joins openapi.yaml, paths/*.yaml and components/*.yaml into one JSON document.

paths/*.yaml are members of `paths`; components/*.yaml are members of `components` (schemas, parameters, …). References
are written as they stand in the result (#/components/…). A name that two files define, or a reference to
nothing, is an error.
"""
import json
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).parent


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


def bundle():
    document = load(HERE / "openapi.yaml")
    document["paths"] = {}
    document["components"] = document.get("components", {})
    for path in sorted((HERE / "paths").glob("*.yaml")):
        merge(document["paths"], load(path), path)
    for path in sorted((HERE / "components").glob("*.yaml")):
        for section, members in load(path).items():
            merge(document["components"].setdefault(section, {}), members, path)
    for reference in references(document):
        if not resolves(document, reference):
            sys.exit(f"{reference}: refers to nothing")
    return document


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    text = json.dumps(bundle(), separators=(",", ":"), ensure_ascii=False)
    pathlib.Path(sys.argv[1]).write_text(text, encoding="utf-8")
