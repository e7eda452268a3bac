"""The command line: `bochner`, also `python -m bochner`.

`app` has the commands, each in a file of its own, which ask `jobs`, `comparison` and
`recommend` to do the work; `console` speaks to the user, `show` makes its tables.
"""
