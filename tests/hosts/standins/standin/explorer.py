# SPDX-License-Identifier: Apache-2.0
"""neuron-explorer and neuron-profile: capture (in capture.py), view (says what a trace holds),
show-session."""

import argparse
import json
import os
import sys

from standin import host, logs, neff, views

OLD_BUILD = "built on 2025-09-18T17:21:14Z"


def version(name):
    text = host.LINE["explorer"]
    return "%s %s %s" % (name, text, OLD_BUILD) if "%" in text else "%s %s" % (name, text)


def capture(arguments):
    from standin import capture as part     # loads numpy
    return part.capture(arguments)


# -------------------------------------------------------------------------------------------- view


def view_parser(old):
    parser = argparse.ArgumentParser(prog="view", allow_abbrev=False)
    add = parser.add_argument
    add("-n", "--neff-path", "--neff")
    add("-s", "--session-file")
    add("-d", "--session-dir")
    add("--output-format", default="parquet")
    add("--output-file")
    add("--data-path")
    add("--display-name", default="profile")
    names = ["ingest-only", "ignore-system-profile", "ignore-device-profile", "ignore-event-trace",
             "show-profile-schema"]
    for name in names + ([] if old else ["disable-ui"]):
        add("--" + name, action="store_true")
    return parser


def schema():
    if not host.LINE["schema"]:
        return 1
    logs.say("version: %s\ntables:\n  Summary:\n    - name: total_time\n      type: float64"
             % host.LINE["schema"])
    return 0


def show(options, info):
    """Prints or writes the form that was asked for."""
    node, kind = "n_" + info["neff"], options.output_format
    logs.logrus("INFO", "Processing profile for %s" % node)
    logs.logrus("ERRO", "Unable to process node with uid %s for exec 6" % info["neff"])
    if kind == "summary-json":
        logs.say(json.dumps({node: views.summary(info)}, indent=1))
    elif kind == "summary-text":
        logs.say(views.text(info))
    elif kind == "json":
        with open(options.output_file or "ntff.json", "w", encoding="utf-8") as file:
            json.dump(views.full(info), file)
    elif options.output_file:
        views.write_tables(info, options.output_file)
    else:
        folder = os.path.join(options.data_path or ".", "profiles", "global",
                              options.display_name + "@latest")
        views.write_tables(info, folder)
    return 0


def view(arguments, old):
    options = view_parser(old).parse_args(arguments)
    if options.show_profile_schema:
        return schema()
    if options.output_format not in host.LINE["views"]:
        logs.logrus("FATA", "unknown output format  format=%s supported=%s"
                    % (options.output_format, ",".join(host.LINE["views"])))
        return 1
    supported = host.LINE["ntff"]
    try:
        if not options.session_file:
            raise neff.Broken("No metadata found for system profile")
        info = neff.read_ntff(options.session_file, supported)
        if options.neff_path and neff.Neff(options.neff_path).hash != info["neff"]:
            raise neff.Broken("NEFF/NTFF UUID mismatch  status=ERROR_PROCESS_INCOMPLETE")
    except neff.Broken as problem:
        logs.logrus("ERRO", str(problem))
        return 1
    return show(options, info)


def show_session(arguments):
    parser = argparse.ArgumentParser(prog="show-session")
    parser.add_argument("-s", "--session-file")
    parser.add_argument("--show-errors", action="store_true")
    parser.add_argument("-j", action="store_true")
    options = parser.parse_args(arguments)
    try:
        info = neff.read_ntff(options.session_file, host.LINE["ntff"])
    except neff.Broken as problem:
        logs.logrus("ERRO", str(problem))
        return 1
    cycles = int(info["us"] * 1e3 * views.CLOCK_GHZ[info["generation"]])
    graphs = [{"NC": 0, "CycleCount": cycles}]
    logs.say(json.dumps({"NeffNodes": [{"NodeInfo": {"Graphs": graphs}}]}))
    return 0


# -------------------------------------------------------------------------------------------- main


def main(name):
    arguments = sys.argv[1:]
    if name in host.LINE["refuses"]:
        logs.say("neuron-profile is no longer supported. Please use neuron-explorer.", sys.stderr)
        return 1
    if not arguments or arguments[0] in ("--version", "version"):
        logs.say(version(name))
        return 0 if arguments else 1
    old = "%" in host.LINE["explorer"] and name == "neuron-profile"
    commands = {"capture": capture, "view": lambda rest: view(rest, old),
                "show-session": show_session, "--show-profile-schema": lambda rest: schema()}
    if arguments[0] not in commands:
        logs.say("Unknown command `%s'. Please specify one command of: capture, show-session or "
                 "view"
                 % arguments[0], sys.stderr)
        return 1
    if arguments[0] == "--show-profile-schema" and (host.LINE["schema"] or "0").split(".")[0] > "7":
        logs.say("unknown flag `show-profile-schema'", sys.stderr)
        return 1
    return commands[arguments[0]](arguments[1:])
