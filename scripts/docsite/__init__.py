"""The documentation site: generated pages, tutorials that are run, links that are checked."""
