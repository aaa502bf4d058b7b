#!/usr/bin/env python3
"""Which known issues PyTorch's own agents show, release by release, as the table of scenarios/guest/releases.md.

Usage: guest_releases.py hooke SCENARIOS RELEASE=PYTHON...
Runs `hooke run --world pytorch --once --json SCENARIOS` with each interpreter. RELEASE=FILE.json: what such a run has
printed already.
"""
import json
import os
import subprocess
import sys

MENDED = ('-fixed', '-hardened')


def results(hooke, scenarios, given):
    if given.endswith('.json'):
        with open(given, encoding='utf-8') as file:
            return json.load(file)['results']
    run = subprocess.run([hooke, 'run', '--world', 'pytorch', '--once', '--json', scenarios], check=False,
                         stdout=subprocess.PIPE, env={**os.environ, 'HOOKE_TORCH_PYTHON': given})
    if run.returncode not in (0, 1):
        sys.exit('guest_releases.py: %s: hooke run has ended with %d' % (given, run.returncode))
    return json.loads(run.stdout)['results']


def word(result):
    """What the scenario shows of the release."""
    if result is None or result['verdict'] == 'unsupported':
        return ''
    shown = result['verdict'] == 'passed'
    if result['name'].endswith(MENDED):
        return 'holds' if shown else '**breaks**'
    return 'breaks' if shown else '**otherwise**'


def main(hooke, scenarios, *releases):
    names, columns = [], {}
    for each in releases:
        release, given = each.split('=', 1)
        columns[release] = {result['name']: result for result in results(hooke, scenarios, given)}
        names += [name for name in columns[release] if name not in names]
    print('| scenario | ' + ' | '.join(columns) + ' |')
    print('|---|' + '---|' * len(columns))
    for name in sorted(names):
        words = [word(column.get(name)) for column in columns.values()]
        if any(words):
            print('| `%s` | %s |' % (name, ' | '.join(words)))


if __name__ == '__main__':
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
