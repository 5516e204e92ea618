"""What agents report comes back by GET /api/v1/telemetry, /topology, the tunnels of a link, the workers of a gateway and
/metrics: figures, gaps, refusals. The answers are judged by the OpenAPI document, /metrics by promtool."""
import csv
import io
import subprocess
import time
import uuid

from controller import request
from openapi import Document
from test_agent_api import Base as AgentBase


class Base(AgentBase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = None

    def get(self, path):
        reply = self.api("GET", path)
        if not self.document:
            type(self).document = Document(self.api("GET", "openapi.json").json)
        self.document.check("GET", f"/api/v1/{path}", reply)
        return reply

    def ok(self, path):
        reply = self.get(path)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def pair(self):
        """Two gateways with the link between them."""
        sites = [self.site("a", "10.1.0.0/16"), self.site("t", "10.9.0.0/16", role="transit")]
        agents = [self.enrolled(site, f"gw-{site['name']}1", address) for site, address in zip(sites, ("10.1.0.1", "10.9.0.1"))]
        self.make("connections", name="a-t", site_a_id=sites[0]["id"], site_b_id=sites[1]["id"])
        self.boot = str(uuid.uuid4())
        return agents, self.api("GET", "links").json["items"][0]["id"]

    def report(self, agent, link, carried, **changes):
        """A second's report of a link with two tunnels that have carried so many bytes each."""
        tunnels = [{"tunnel": i, "state": "up", "reason": "answered", "port": 4510 + i, "rtt_us": 250, "tx_packets": carried // 100,
                    "tx_bytes": carried, "rx_packets": 0, "rx_bytes": 0, "probes_sent": 10, "probes_answered": carried // 100,
                    "probes_lost": 0, "worker": i, "mtu": 1438, "wire_tx_bytes": carried * 2, "wire_rx_bytes": 0, "rtt_us_min": 200,
                    "rtt_us_max": 300, "probes_reflected": 0, "auth_failures": 0, "replays": 0} for i in range(2)]
        body = {
            "dataplane": {"connected": True, "boot_id": self.boot, "version": "0.1.0", "workers": 2, "provider": "ipsec-mb",
                          "features": [], "suites": ["aes-256-gcm"]},
            "interval_seconds": 1.0, "samples": 1,
            "totals": {"goodput_tx_bps": 800, "goodput_rx_bps": 0, "wire_tx_bps": 900, "wire_rx_bps": 0, "tx_packets": 0,
                       "rx_packets": 0, "tx_bytes": 2 * carried, "rx_bytes": 0,
                       "spread": {"goodput_tx_bps": {"avg": 800, "min": 100, "max": 1600}, "goodput_rx_bps": None,
                                  "wire_tx_bps": None, "wire_rx_bps": None}},
            "links": [{"link_id": link, "state": "up", "reason": "", "since": 1, "epoch": 1, "rekeyed_at": int(time.time()) - 60,
                       "suite": "aes-256-gcm", "keying": {"state": "connected", "last_error": "", "failures": 0}, "mtu": 1438,
                       "tx_bps": 800, "rx_bps": 0, "rtt_us": {"avg": 250, "min": 200, "max": 300}, "loss_ratio": 0.25,
                       "imbalance_ratio": 1, "tunnels": tunnels}],
            "workers": [{"busy_ratio": 0.5, "busy_ratio_max": 0.75, "handoff_in": carried, "tunnels": 1},
                        {"busy_ratio": 0.25, "busy_ratio_max": 0.25, "handoff_in": 0, "tunnels": 1}],
            "drops": {"no_route": carried // 100}, "conntrack": {"entries": 12, "max": 100}, **changes}
        reply = agent.report(**body)
        self.assertEqual(reply.status, 204, reply)

    def next_second(self):
        """Reports of one second replace each other: wait for the next."""
        now = int(time.time())
        self.until(lambda: int(time.time()) != now, 2)

    def two_reports(self):
        agents, link = self.pair()
        self.report(agents[0], link, 1000)
        self.next_second()
        self.report(agents[0], link, 1500)
        return agents, link


class Series(Base):
    def test_figures(self):
        agents, link = self.two_reports()
        gateway = agents[0].id
        got = self.ok(f"telemetry?object=gateway/{gateway}&metric=goodput_tx_bps,tx_bytes,drops,busy_ratio,conntrack_entries,"
                      "imbalance_ratio,tunnels_up")
        self.assertEqual((got["step"], got["step_seconds"]), ("raw", None))
        series = {one["metric"]: one for one in got["series"]}
        rate = series["goodput_tx_bps"]
        self.assertEqual((rate["object"], rate["unit"], rate["observer"]), (f"gateway/{gateway}", "bit/s", "gw-a1"))
        self.assertIn(rate["age_seconds"], range(5))
        self.assertEqual((rate["avg"][-1], rate["min"][-1], rate["max"][-1]), (800, 100, 1600))
        self.assertEqual(series["tx_bytes"]["avg"], [0, 1000])  # of the first nobody knows what was before
        self.assertEqual((series["drops"]["avg"][-1], series["conntrack_entries"]["avg"][-1]), (5, 12))
        self.assertEqual((series["busy_ratio"]["avg"][-1], series["busy_ratio"]["max"][-1]), (0.5, 0.75))
        self.assertEqual(series["tunnels_up"]["avg"][-1], 2)

        got = self.ok(f"telemetry?object=link/{link}&metric=goodput_tx_bps,rtt_ms,loss_ratio,mtu,up_ratio,tx_bytes")
        last = {one["metric"]: one["avg"][-1] for one in got["series"]}
        self.assertEqual(last, {"goodput_tx_bps": 800, "rtt_ms": 0.25, "loss_ratio": 0, "mtu": 1438, "up_ratio": 1, "tx_bytes": 1000})
        got = self.ok(f"telemetry?object=tunnel/{link}/1&metric=goodput_tx_bps,rtt_ms")
        self.assertEqual([one["avg"][-1] for one in got["series"]], [4000, 0.25])
        got = self.ok(f"telemetry?object=worker/{gateway}/0,worker/{gateway}/1&metric=busy_ratio")
        self.assertEqual([one["avg"][-1] for one in got["series"]], [0.5, 0.25])
        # The other end has said nothing; a tunnel that isn't there has no figures.
        got = self.ok(f"telemetry?object=link/{link}&metric=rtt_ms&observer_id={agents[1].id}")
        self.assertEqual((got["series"][0]["avg"], got["series"][0]["observed_at"]), ([], None))
        self.assertEqual(set(self.ok(f"telemetry?object=tunnel/{link}/9&metric=mtu")["series"][0]["avg"]), {None})

    def test_steps(self):
        """What is not rolled up yet comes from the reports."""
        agents, link = self.two_reports()
        got = self.ok(f"telemetry?object=link/{link}&metric=tx_bytes&range=15m&step=1m")
        self.assertEqual(got["step_seconds"], 60)
        self.assertIn(len(got["offset_seconds"]), (15, 16))
        self.assertEqual(got["offset_seconds"][:2], [0, 60])
        self.assertEqual(sum(value or 0 for value in got["series"][0]["avg"]), 1000)
        self.assertIsNone(got["series"][0]["avg"][0])
        for step in ("15m", "1h"):
            got = self.ok(f"telemetry?object=link/{link}&metric=tx_bytes&range=1d&step={step}")
            self.assertEqual(sum(value or 0 for value in got["series"][0]["avg"]), 1000, step)
        for reach, step in (("1h", "raw"), ("3h", "1m"), ("2d", "15m"), ("30d", "1h")):
            self.assertEqual(self.ok(f"telemetry?object=link/{link}&metric=mtu&range={reach}")["step"], step)
        self.assertEqual(self.ok(f"telemetry?object=worker/{agents[0].id}/0&metric=busy_ratio&range=30d")["step"], "15m")

    def test_csv(self):
        agents, _ = self.two_reports()
        reply = self.api("GET", f"telemetry?object=gateway/{agents[0].id}&metric=goodput_tx_bps,tx_bytes&format=csv")
        self.assertEqual(reply.headers["Content-Type"], "text/csv; charset=utf-8")
        rows = list(csv.DictReader(io.StringIO(reply.body.decode())))
        self.assertEqual(len(rows), 4)
        self.assertEqual({key: rows[1][key] for key in ("object", "observer", "metric", "avg", "min", "max")},
                         {"object": f"gateway/{agents[0].id}", "observer": "gw-a1", "metric": "goodput_tx_bps", "avg": "800", "min": "100",
                          "max": "1600"})
        self.assertEqual(rows[3]["avg"], "1000")

    def test_counters_begin_anew(self):
        agents, link = self.two_reports()
        self.boot = str(uuid.uuid4())
        self.next_second()
        self.report(agents[0], link, 70)
        got = self.ok(f"telemetry?object=link/{link}&metric=tx_bytes")
        self.assertEqual(got["series"][0]["avg"], [0, 1000, 140])

    def test_refusals(self):
        agents, link = self.pair()
        gateway = f"gateway/{agents[0].id}"
        for query, field in ((f"object={gateway}", "metric"), ("metric=mtu", "object"), ("object=&metric=mtu", "object"),
                             (f"object={gateway}&metric=mtu", "metric"), (f"object={gateway}&metric=nonsense", "metric"),
                             (f"object=host/{agents[0].id}&metric=mtu", "object"), (f"object={gateway}/1&metric=drops", "object"),
                             (f"object=tunnel/{link}&metric=mtu", "object"), (f"object=tunnel/{link}/100&metric=mtu", "object"),
                             ("object=gateway/12&metric=drops", "object"), (f"object={gateway}&metric=drops&range=0h", "range"),
                             (f"object={gateway}&metric=drops&range=401d", "range"), (f"object={gateway}&metric=drops&range=1w", "range"),
                             (f"object={gateway}&metric=drops&range=1h&from=2026-01-01T00:00:00Z", "range"),
                             (f"object={gateway}&metric=drops&from=yesterday", "from"), (f"object={gateway}&metric=drops&to=never", "to"),
                             (f"object={gateway}&metric=drops&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
                             (f"object={gateway}&metric=drops&step=2m", "step"), (f"object=tunnel/{link}/0&metric=mtu&step=1h", "step"),
                             (f"object={gateway}&metric=drops&step=1m&range=399d", "step"),
                             (f"object={','.join([gateway] * 20)}&metric=drops,handoffs", "step"),
                             (f"object={','.join([gateway] * 21)}&metric=drops", "object"),
                             (f"object={gateway}&metric=drops&format=xml", "format"), (f"object={gateway}&metric=drops&until=1", "until"),
                             (f"object=link/{link}&metric=mtu&observer_id={uuid.uuid4()}", "observer_id"),
                             (f"object=link/{link}&metric=mtu&observer_id=1", "observer_id")):
            reply = self.get(f"telemetry?{query}")
            self.assertEqual((reply.status, reply.json.get("field")), (422, field), query)
        for thing in (f"gateway/{uuid.uuid4()}", f"link/{uuid.uuid4()}", f"worker/{uuid.uuid4()}/0"):
            metric = "mtu" if thing.startswith("link") else "busy_ratio"
            self.assertEqual(self.get(f"telemetry?object={thing}&metric={metric}").status, 404)


class Views(Base):
    def test_tunnels(self):
        agents, link = self.two_reports()
        items = self.ok(f"links/{link}/tunnels")["items"]
        self.assertEqual([item["tunnel"] for item in items], [0, 1])
        status, end = items[1]["status"], items[1]["ends"][0]
        self.assertEqual((status["state"], status["reason"], status["observer"]), ("up", "answered", "gw-a1"))
        self.assertEqual((end["gateway_id"], end["state"], end["port"], end["worker"], end["mtu"]), (agents[0].id, "up", 4511, 1, 1438))
        self.assertEqual(end["rtt_ms"], {"avg": 0.25, "min": 0.2, "max": 0.3})
        self.assertEqual((end["goodput_tx_bps"], end["wire_tx_bps"], end["loss_ratio"], end["tx_bytes"]), (4000, 8000, 0, 1500))
        # The other end sees it down: that is what counts.
        self.report(agents[1], link, 10)
        self.assertEqual(self.ok(f"links/{link}/tunnels")["items"][0]["status"]["observer"], "gw-a1, gw-t1")
        body = {"tunnel": 0, "state": "down", "reason": "no_answer", "port": 4510, "rtt_us": 0, "tx_packets": 0, "tx_bytes": 0, "rx_packets": 0,
                "rx_bytes": 0, "probes_sent": 0, "probes_answered": 0, "probes_lost": 0}
        keying = {"state": "idle", "last_error": "", "failures": 0}
        self.report(agents[1], link, 10, links=[{"link_id": link, "state": "down", "reason": "", "since": 1, "epoch": 1, "rekeyed_at": None,
                                                 "suite": None, "keying": keying, "mtu": 0, "tx_bps": 0, "rx_bps": 0, "tunnels": [body]}])
        first, second = self.ok(f"links/{link}/tunnels")["items"]
        self.assertEqual((first["status"]["state"], first["status"]["reason"], len(first["ends"])), ("down", "no_answer", 2))
        self.assertEqual(first["ends"][1]["rtt_ms"], {"avg": None, "min": None, "max": None})
        self.assertEqual((second["status"]["state"], len(second["ends"])), ("up", 1))
        self.assertEqual(self.ok(f"links/{link}")["status"]["suite"], None)
        self.assertEqual(self.get(f"links/{uuid.uuid4()}/tunnels").status, 404)

    def test_workers(self):
        agents, link = self.pair()
        path = f"gateways/{agents[0].id}/workers"
        self.assertEqual(self.ok(path)["items"], [])
        self.report(agents[0], link, 1000)
        self.next_second()
        self.report(agents[0], link, 1500)
        items = self.ok(path)["items"]
        self.assertEqual([item["worker"] for item in items], [0, 1])
        self.assertEqual([items[0][key] for key in ("busy_ratio", "busy_ratio_max", "tunnels", "handoffs_per_second")], [0.5, 0.75, 1, 500])
        self.assertIn(items[0]["age_seconds"], range(5))
        self.assertEqual(self.get(f"gateways/{uuid.uuid4()}/workers").status, 404)

    def test_live_against_published(self):
        size = next(item for item in self.ok("instance-sizes?limit=1000")["items"]
                    if any(figure["metric"] == "throughput" and figure["encryption"] not in (None, "none") and figure["mtu"]
                           and figure["throughput_bps"] for figure in item["figures"]))
        sites = [self.make("sites", name=name, provider=size["provider"], role=role, cidrs=[cidr])
                 for name, role, cidr in (("a", "spoke", "10.1.0.0/16"), ("t", "transit", "10.9.0.0/16"))]
        agents = [self.enrolled(site, f"gw-{site['name']}1", address) for site, address in zip(sites, ("10.1.0.1", "10.9.0.1"))]
        self.make("connections", name="a-t", site_a_id=sites[0]["id"], site_b_id=sites[1]["id"])
        self.boot, link = str(uuid.uuid4()), self.api("GET", "links").json["items"][0]["id"]
        path = f"gateways/{agents[0].id}"
        self.assertIsNone(self.ok(path)["performance"])  # no size
        self.change(path, size=size["size"])
        before = self.ok(path)["performance"]
        self.assertEqual((before["live_bps"], before["ratio"]), (None, None))
        self.assertEqual(before["published_bps"], before["figure"]["throughput_bps"])
        self.report(agents[0], link, 1000, totals={"goodput_tx_bps": 10 ** 9, "goodput_rx_bps": 2 * 10 ** 9, "wire_tx_bps": 0, "wire_rx_bps": 0,
                                                   "tx_packets": 0, "rx_packets": 0, "tx_bytes": 0, "rx_bytes": 0})
        after = self.ok(path)["performance"]
        self.assertEqual(after["live_bps"], 2e9)
        self.assertAlmostEqual(after["ratio"], 2e9 / before["published_bps"])
        self.assertEqual([gateway["published_ratio"] for gateway in self.ok("topology")["gateways"]], [after["ratio"], None])
        self.change(path, size="of-nobody")
        self.assertIsNone(self.ok(path)["performance"])

    def test_topology(self):
        empty = self.ok("topology")
        self.assertEqual((empty["sites"], empty["links"], empty["totals"]["goodput_bps"]), ([], [], 0))
        agents, link = self.pair()
        quiet = self.ok("topology")
        self.assertEqual({site["state"] for site in quiet["sites"]}, {"unknown"})
        self.assertEqual((quiet["connections"][0]["state"], quiet["connections"][0]["encrypted"]), ("unknown", None))
        self.assertIsNone(quiet["gateways"][0]["goodput_tx_bps"])
        for one in (quiet["connections"][0], quiet["links"][0]):
            self.assertEqual([one[key] for key in ("goodput_ab_bps", "goodput_ba_bps", "rtt_ms", "loss_ratio", "mtu")], [None] * 5)
        for agent in agents:
            self.report(agent, link, 1000)
        got = self.ok("topology")
        self.assertEqual([(gateway["name"], gateway["status"]["state"], gateway["goodput_tx_bps"], gateway["busy_ratio"])
                          for gateway in got["gateways"]], [("gw-a1", "up", 800, 0.5), ("gw-t1", "up", 800, 0.5)])
        self.assertEqual([site["state"] for site in got["sites"]], ["up", "up"])
        connection = got["connections"][0]
        self.assertEqual([connection[key] for key in ("state", "encrypted", "goodput_ab_bps", "goodput_ba_bps", "rtt_ms", "loss_ratio", "mtu",
                                                      "tunnels_up", "tunnels_total")], ["up", True, 800, 800, 0.25, 0.25, 1438, 2, 2])
        self.assertEqual(got["links"][0]["status"]["suite"], "aes-256-gcm")
        self.assertEqual(got["totals"], {"goodput_bps": 1600, "gateways_up": 2, "gateways_total": 2, "links_up": 1, "links_total": 1,
                                         "tunnels_up": 2, "tunnels_total": 2, "unencrypted_connections": 0})
        self.change(f"connections/{got['connections'][0]['id']}", enabled=False)
        got = self.ok("topology")
        self.assertEqual((got["connections"][0]["state"], got["links"][0]["status"]["state"]), ("disabled", "disabled"))


class Metrics(Base):
    def scrape(self):
        text = request(self.controller.port, self.controller.web_context(), "GET", "/metrics", None,
                       {"Authorization": f"Bearer {self.controller.token}"}).body.decode()
        judged = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30)
        self.assertEqual((judged.returncode, judged.stdout, judged.stderr), (0, "", ""))
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def test_metrics(self):
        self.scrape()
        agents, link = self.pair()
        got = self.scrape()
        self.assertEqual(got['hawser_gateway_state{gateway="gw-a1",state="unknown"}'], "1")
        self.assertNotIn('hawser_agent_last_contact_timestamp_seconds{gateway="gw-a1"}', got)
        self.report(agents[0], link, 1000, dataplane={"connected": True, "boot_id": self.boot, "version": "0.1.0", "workers": 2,
                                                      "provider": None, "features": []}, agent_version='0.1.0"\\\n')
        got = self.scrape()
        self.assertLess(abs(int(got['hawser_agent_last_contact_timestamp_seconds{gateway="gw-a1"}']) - time.time()), 10)
        of_tunnel = '{gateway="gw-a1",link="gw-a1--gw-t1",tunnel="1"}'
        for name, value in (("tx_bytes_total", "1000"), ("wire_tx_bytes_total", "2000"), ("rtt_seconds", "0.000250"),
                            ("lost_probes_total", "0"), ("tx_packets_total", "10")):
            self.assertEqual(got[f"hawser_tunnel_{name}{of_tunnel}"], value, name)
        for name, value in (('hawser_gateway_info{gateway="gw-a1",site="a",size="",agent_version="0.1.0___"}', "1"),
                            ('hawser_gateway_state{gateway="gw-a1",state="up"}', "1"), ('hawser_gateway_state{gateway="gw-a1",state="down"}', "0"),
                            ('hawser_link_state{link="gw-a1--gw-t1",state="up"}', "1"),
                            ('hawser_link_tunnels{gateway="gw-a1",link="gw-a1--gw-t1",state="up"}', "2"),
                            ('hawser_path_mtu_bytes{gateway="gw-a1",link="gw-a1--gw-t1",scope="tunnel"}', "1438"),
                            ('hawser_drops_total{gateway="gw-a1",reason="no_route"}', "10"),
                            ('hawser_cpu_busy_ratio{gateway="gw-a1",core="0",role="worker"}', "0.5"),
                            ('hawser_conntrack_entries{gateway="gw-a1"}', "12"),
                            ('hawser_agent_config_revision{gateway="gw-a1",kind="in_force"}', "0")):
            self.assertEqual(got[name], value, name)


if __name__ == "__main__":
    import unittest
    unittest.main()
