#!/usr/bin/python3
"""catalogue.py SIZES.csv FIGURES.csv OUT.c: the catalogue of instance sizes as C tables (catalogue.h).

A figure without its size, a size given twice and a text too long for the store are errors of the build.
"""
import csv
import decimal
import hashlib
import json
import pathlib
import sys

RATES = {"Gbps": 10**9, "Mbps": 10**6}


def text(value, longest):
    if not value.isascii() or len(value) > longest:
        sys.exit(f"not ASCII, or longer than {longest}: {value!r}")
    return json.dumps(value)


def number(value):
    return int(value) if value else 0


def size_row(r):
    return (f"    {{{text(r['provider'], 31)}, {text(r['size'], 63)}, {number(r['vcpus'])}, {number(r['memory_bytes'])}u,"
            f" {number(r['nic_bps'])}u, {text(r['note'], 200)}}},")


def figure_row(r, index):
    rate = int(decimal.Decimal(r["value"]) * RATES.get(r["unit"], 0))
    gro = {"on": 1, "off": 0, "": -1}[r["gro"]]
    return (f"    {{{index}, {text(r['source'], 95)}, {text(r['role'], 63)}, {number(r['mtu_bytes'])},"
            f" {number(r['tcp_streams'])}, {text(r['encryption'], 63)}, {gro}, {text(r['metric'], 63)},"
            f" {text(r['unit'], 31)}, {float(r['value'])!r}, {rate}.0, {text(r['note'], 200)}}},")


def main(sizes_path, figures_path, out):
    files = [pathlib.Path(p).read_text(encoding="ascii") for p in (sizes_path, figures_path)]
    sizes, figures = (list(csv.DictReader(f.splitlines())) for f in files)
    index = {(r["provider"], r["size"]): i for i, r in enumerate(sizes)}
    if len(index) != len(sizes):
        sys.exit(f"{sizes_path}: a size is given twice")
    for r in figures:
        if (r["provider"], r["size"]) not in index:
            sys.exit(f"{sizes_path}: no row for {r['provider']} {r['size']}")
    version = hashlib.sha256("\0".join(files).encode()).hexdigest()
    lines = ['#include "controller/sizes/catalogue.h"', f'const char catalogue_version[] = "{version}";',
             "const struct catalogue_size catalogue_sizes[] = {", *map(size_row, sizes), "};",
             "const size_t catalogue_sizes_count = sizeof catalogue_sizes / sizeof *catalogue_sizes;",
             "const struct catalogue_figure catalogue_figures[] = {",
             *(figure_row(r, index[r["provider"], r["size"]]) for r in figures), "};",
             "const size_t catalogue_figures_count = sizeof catalogue_figures / sizeof *catalogue_figures;"]
    pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="ascii")


main(*sys.argv[1:])
