"""A browser for the report, as for the page."""

from tests.serving.service.conftest import browser

__all__ = ["browser"]
