"""Instance sizes: the catalogue as its files have it, own figures, the question "what size?", and what tunnels follow."""
import csv
import uuid

from controller import ROOT
from test_api import Base

PATH = "/api/v1/instance-sizes"
FIGURE = {"throughput_bps": 9.4e9, "mtu": 8900, "tcp_streams": 32, "gro": True, "role": "spoke", "spread_bps": 0, "runs": 5,
          "method": "iperf3 -P 32 -t 30, median of 5", "measured_at": "2026-11-30T18:00:00Z"}


def rows(name):
    with (ROOT / "schema" / "data" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def known(text, kind=str):
    return kind(text) if text else None


class Sizes(Base):
    def tearDown(self):
        super().tearDown()
        for size in self.sizes():
            for figure in size["figures"]:
                if figure["origin"] == "measured":
                    self.assertEqual(self.api.call("DELETE", f"{PATH}/{size['id']}/figures/{figure['id']}").status, 204)
            if size["source"] == "operator":
                self.assertEqual(self.api.call("DELETE", f"{PATH}/{size['id']}").status, 204)

    def sizes(self, query=""):
        return self.api.call("GET", f"{PATH}?limit=1000{query}").json["items"]

    def size(self, provider, name):
        return self.sizes(f"&provider={provider}&size={name}")[0]

    def recommend(self, query):
        reply = self.api.call("GET", f"{PATH}/recommend?{query}")
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def test_the_catalogue_is_as_published(self):
        shown = {(s["provider"], s["size"]): s for s in self.sizes()}
        self.assertEqual(list(shown), sorted(shown, key="/".join))
        self.assertEqual(set(shown), {(r["provider"], r["size"]) for r in rows("instance_sizes.csv")})
        for row in rows("instance_sizes.csv"):
            size = shown[row["provider"], row["size"]]
            self.assertEqual([size[k] for k in ("vcpus", "memory_bytes", "nic_bps")],
                             [known(row[k], int) for k in ("vcpus", "memory_bytes", "nic_bps")])
            self.assertEqual((size["note"], size["source"]), (known(row["note"]), "catalogue"))
        published = {}
        for row in rows("published_throughput.csv"):
            published.setdefault((row["provider"], row["size"]), []).append(row)
        for key, size in shown.items():
            self.assertEqual([(f["source"], f["role"], f["mtu"], f["tcp_streams"], f["encryption"], f["metric"], f["unit"], f["value"],
                               f["note"], f["origin"], f["gro"]) for f in size["figures"]],
                             [(r["source"], known(r["role"]), known(r["mtu_bytes"], int), known(r["tcp_streams"], int),
                               known(r["encryption"]), r["metric"], r["unit"], float(r["value"]), known(r["note"]), "published",
                               {"on": True, "off": False, "": None}[r["gro"]]) for r in published[key]])
            for figure in size["figures"]:
                factor = {"Gbps": 1e9, "Mbps": 1e6}.get(figure["unit"])
                self.assertAlmostEqual(figure["throughput_bps"] or 0, figure["value"] * factor if factor else 0, places=3)

    def test_pages_and_filters(self):
        first = self.api.call("GET", f"{PATH}?limit=30").json
        rest = self.api.call("GET", f"{PATH}?limit=30&cursor={first['next_cursor']}").json
        self.assertEqual(first["items"] + rest["items"], self.sizes())
        self.assertIsNone(rest["next_cursor"])
        self.assertEqual({s["provider"] for s in self.sizes("&provider=gcp")}, {"gcp"})
        self.assertEqual(self.sizes("&provider=gcp&size=t3.small"), [])
        for wrong in ("provider=x", "provider=", "size=", "name=x"):
            self.refused(422, "GET", f"{PATH}?{wrong}", field=wrong.split("=")[0])

    def test_the_catalogue_stays(self):
        size = self.size("aws", "c5n.4xlarge")
        self.assertEqual(self.api.call("GET", f"{PATH}/{size['id']}").json, size)
        self.refused(409, "DELETE", f"{PATH}/{size['id']}")
        self.refused(409, "DELETE", f"{PATH}/{size['id']}/figures/{size['figures'][0]['id']}")
        self.refused(409, "POST", PATH, {"provider": "aws", "size": "c5n.4xlarge"})
        self.assertEqual(self.size("aws", "c5n.4xlarge"), size)

    def test_a_restart_changes_nothing(self):
        before = self.sizes()
        self.assertEqual(self.controller.stop(), 0)
        self.controller.start()
        self.assertEqual(self.sizes(), before)

    def test_a_size_of_ones_own(self):
        size = self.create("instance-sizes", provider="onprem", size="r650 2x25", vcpus=1, memory_bytes=None, nic_bps=25000000000)
        self.assertEqual([size[k] for k in ("source", "tunnels", "workers", "memory_bytes", "note", "figures")],
                         ["operator", 2, 1, None, None, []])
        for field, value in (("provider", "x"), ("size", ""), ("size", " a"), ("size", "ä"), ("size", "x" * 64), ("vcpus", 0),
                             ("vcpus", 1025), ("nic_bps", -1), ("memory_bytes", 2**60), ("note", 7), ("figures", [])):
            self.refused(422, "POST", PATH, {"provider": "onprem", "size": "other", field: value}, field)
        self.assertEqual(self.api.call("DELETE", f"{PATH}/{size['id']}").status, 204)
        self.refused(404, "GET", f"{PATH}/{size['id']}")

    def test_own_figures(self):
        size = self.size("aws", "c5n.9xlarge")
        path, key = f"{PATH}/{size['id']}/figures", str(uuid.uuid4())
        made = self.api.call("POST", path, FIGURE, Idempotency_Key=key)
        self.assertEqual(made.status, 201, made)
        self.assertEqual(made.headers["Location"], f"{path}/{made.json['id']}")
        self.assertEqual({k: made.json[k] for k in FIGURE}, FIGURE)
        self.assertEqual([made.json[k] for k in ("origin", "source", "encryption", "note")], ["measured", "own", "aes-256-gcm", None])
        self.assertEqual(self.api.call("POST", path, FIGURE, Idempotency_Key=key).json, made.json)
        self.assertEqual(self.api.call("GET", f"{path}/{made.json['id']}").json, made.json)
        self.assertEqual(self.size("aws", "c5n.9xlarge")["figures"], [made.json] + size["figures"])
        other = self.size("aws", "c5n.4xlarge")
        self.refused(404, "GET", f"{PATH}/{other['id']}/figures/{made.json['id']}")
        self.refused(404, "POST", f"{PATH}/{uuid.uuid4()}/figures", FIGURE)
        for field, value in (("throughput_bps", 0), ("throughput_bps", 1e14), ("mtu", 67), ("mtu", None), ("tcp_streams", 0), ("method", ""),
                             ("method", None), ("encryption", "rot13"), ("encryption", None), ("role", "x"), ("spread_bps", -1), ("runs", 0),
                             ("measured_at", "today"), ("note", "x" * 201), ("gro", 1), ("source", "x")):
            self.refused(422, "POST", path, {**FIGURE, field: value}, field)

    def test_what_size(self):
        answer = self.recommend("gbps=30&mtu=9000&provider=aws")
        self.assertEqual((answer["gbps"], answer["mtu"], answer["provider"]), (30, 9000, "aws"))
        best = answer["items"][0]
        self.assertEqual((best["size"], best["gateways"], best["expected_bps"], best["figure"]["value"]), ("c5n.9xlarge", 1, 36e9, 36))
        self.assertEqual(best["reason"], "one c5n.9xlarge: 36 Gbit/s at MTU 9000, published by Aviatrix HPE benchmark charts, "
                                         "1.2 times what is asked")
        self.assertTrue("none measured here yet" in answer["explanation"])
        self.assertLessEqual(len(answer["items"]), 10)
        for item in answer["items"]:
            self.assertGreaterEqual(item["expected_bps"], 30e9)
            self.assertNotIn(item["figure"]["encryption"], ("none", None))
            self.assertLess((item["gateways"] - 1) * item["figure"]["throughput_bps"], 30e9)

    def test_what_was_measured_comes_first(self):
        size = self.size("aws", "c5n.9xlarge")
        self.api.call("POST", f"{PATH}/{size['id']}/figures", {**FIGURE, "throughput_bps": 2e10, "mtu": 9000})
        answer = self.recommend("gbps=30&mtu=9000&provider=aws")
        mine = next(i for i in answer["items"] if i["size"] == "c5n.9xlarge")
        self.assertEqual((mine["gateways"], mine["figure"]["origin"]), (2, "measured"))
        self.assertTrue("2 x c5n.9xlarge: 20 Gbit/s each at MTU 9000, measured here, 1.3 times" in mine["reason"], mine)
        self.assertFalse("none measured here" in answer["explanation"])

    def test_questions_that_are_none(self):
        self.assertEqual(self.recommend("gbps=10000&mtu=1500&provider=onprem")["items"], [])
        for query, field in (("", "gbps"), ("gbps=", "gbps"), ("gbps=0", "gbps"), ("gbps=-1", "gbps"), ("gbps=nan", "gbps"), ("gbps=1e9", "gbps"),
                             ("gbps=0x10", "gbps"), ("gbps=1,5", "gbps"), ("gbps=1&mtu=67", "mtu"), ("gbps=1&mtu=x", "mtu"),
                             ("gbps=1&provider=x", "provider"), ("gbps=1&size=x", "size")):
            self.refused(422, "GET", f"{PATH}/recommend?{query}", field=field)

    def test_tunnels_follow_from_sizes(self):
        sites = [self.create("sites", name=n, provider="aws", role=r, cidrs=[c])
                 for n, r, c in (("a", "spoke", "10.1.0.0/16"), ("t", "transit", "10.2.0.0/16"))]
        ends = [self.create("gateways", name=f"gw-{s['name']}", site_id=s["id"], size="t3.small") for s in sites]
        self.create("connections", name="a-t", site_a_id=sites[0]["id"], site_b_id=sites[1]["id"])

        def link():
            item = self.api.call("GET", "/api/v1/links").json["items"][0]
            return item["tunnels"], item["tunnels_reason"]
        self.assertEqual(link(), (4, "2 x 2 vCPUs of t3.small"))
        for end, size, expected in ((0, "c5n.4xlarge", (4, "2 x 2 vCPUs of t3.small")), (1, "c5n.18xlarge", (32, "2 x 16 vCPUs of c5n.4xlarge")),
                                    (0, "c5n.9xlarge", (50, "2 x 36 vCPUs of c5n.9xlarge, at most 50")),
                                    (0, "C5N.9xlarge", (8, "default 8: size of gw-a is not known"))):
            self.assertEqual(self.api.call("PATCH", f"/api/v1/gateways/{ends[end]['id']}", {"size": size}).status, 200)
            self.assertEqual(link(), expected)
        mine = self.create("instance-sizes", provider="aws", size="C5N.9xlarge", vcpus=3)
        self.assertEqual(link(), (6, "2 x 3 vCPUs of C5N.9xlarge"))
        self.assertEqual(self.api.call("DELETE", f"{PATH}/{mine['id']}").status, 204)
        self.assertEqual(link(), (8, "default 8: size of gw-a is not known"))
        item = self.api.call("GET", "/api/v1/links").json["items"][0]
        self.api.call("PATCH", f"/api/v1/links/{item['id']}", {"tunnels_override": 1})
        self.assertEqual(link(), (1, "set on the link"))
