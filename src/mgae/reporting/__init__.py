"""Write a run's page, to look at and to send on."""

from mgae.reporting.page import REPORT, write_report

__all__ = ["REPORT", "write_report"]
