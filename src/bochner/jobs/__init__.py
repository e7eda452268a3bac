"""Jobs: what the command line does, from data to a model or a file, without printing.

`opening` turns a name into blocks of rows, `gathering` has them at hand or a sample of
them, `fitting` learns a Pipeline, `predicting` and `evaluating` use it, `describing`
tells what is in it.
"""
