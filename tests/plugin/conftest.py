"""Another package's parts are for processes of their own: collected, they would register here."""

collect_ignore = ["project"]
