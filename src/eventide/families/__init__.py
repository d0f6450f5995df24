"""The kinds of queries, a folder each; what a family leaves out it has from `base`."""
