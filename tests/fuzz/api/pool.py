"""What exists, as the answers told: ids by kind, cursors."""
import collections
import re
import uuid

KEPT = 40


class Pool:
    def __init__(self, rng):
        self.rng = rng
        self.ids = collections.defaultdict(list)
        self.cursors = []
        self.parents = {}    # of what lies below another object: its id → the other's
        self.hidden = set()  # ids that no request may name: what this run lives by

    def id(self, member):
        """One of the kind that a member's or parameter's name tells, mostly; `kind` alone is one, too."""
        known = self.ids[self.kind(member)]
        if known and self.rng.random() < 0.9:
            return self.rng.choice(known)
        others = [one for ids in self.ids.values() for one in ids]
        return self.rng.choice(others) if others and self.rng.random() < 0.3 else str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    @staticmethod
    def kind(member):
        return re.sub(r"(_[ab])?(_ids?)?$", "", member)

    def learn(self, template, path, value):
        """`value`: the answer to a request for `path`, which `template` is the pattern of."""
        kind = self.kind_of(template if template.endswith("}") else template + "/{}")
        if not template.endswith(("}", "s")):  # /widgets/{id}/verb answers the widget
            kind = self.kind_of(template)
        above = template.count("{") > (1 if template.endswith("}") else 0) and path.split("/")[4]
        for one in value.get("items", [value]) if isinstance(value, dict) else ():
            if isinstance(one, dict) and isinstance(one.get("id"), str) and one["id"] not in self.hidden:
                ids = self.ids[kind]
                if one["id"] not in ids:
                    ids.append(one["id"])
                if above:
                    self.parents[one["id"]] = above
                if len(ids) > KEPT:
                    ids.pop(self.rng.randrange(len(ids)))
        if isinstance(value, dict) and isinstance(value.get("next_cursor"), str):
            self.cursors = [*self.cursors[-20:], value["next_cursor"]]

    def forget(self, one):
        for ids in self.ids.values():
            if one in ids:
                ids.remove(one)

    @staticmethod
    def kind_of(path):
        """Of the object that the last {id} of a path names: "/api/v1/enrolment-tokens/{id}" → "enrolment_token"."""
        segments = path.split("/")
        last = max((i for i, s in enumerate(segments) if s.startswith("{")), default=len(segments))
        return segments[last - 1].removesuffix("s").replace("-", "_")
