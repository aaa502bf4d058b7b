"""A dashboard is what Grafana's own SDK reads: its types take the file in and write it again, and no key is lost and no
value changed. It also shows that this check refuses spoilt dashboards. Usage: grafana_dashboard.py FILE."""
import copy
import json
import pathlib
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def differences(here, there, place=""):
    """Where `there` lacks something of `here`, or has another value; what it has besides is Grafana's default."""
    if isinstance(here, dict) and isinstance(there, dict):
        for key, value in here.items():
            if key not in there:
                yield f"{place}/{key} is nothing that Grafana knows"
            else:
                yield from differences(value, there[key], f"{place}/{key}")
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for number, pair in enumerate(zip(here, there)):
            yield from differences(*pair, f"{place}/{number}")
    elif here != there:
        yield f"{place}: {here!r} became {there!r}"


def problems(dashboard):
    """What Grafana's types do not take of `dashboard`."""
    try:
        read = Dashboard.from_json(copy.deepcopy(dashboard))
    except (AttributeError, KeyError, TypeError, ValueError) as refused:
        return [f"it is refused: {refused!r}"]
    return list(differences(dashboard, json.loads(JSONEncoder().encode(read))))


def main():
    register_default_plugins()
    dashboard = json.loads(pathlib.Path(sys.argv[1]).read_text())
    found = problems(dashboard)
    if found or not dashboard["panels"]:
        sys.exit("Grafana's SDK: " + "\n".join(found or ["there is no panel"]))
    for spoil in (lambda spoilt: spoilt.update(pannels=[]),
                  lambda spoilt: spoilt["panels"][0]["targets"][0].update(expresion="1"),
                  lambda spoilt: spoilt["panels"][0]["options"].update(colour="red")):
        spoilt = copy.deepcopy(dashboard)
        spoil(spoilt)
        if not problems(spoilt):
            sys.exit("Grafana's SDK refuses nothing")


main()
