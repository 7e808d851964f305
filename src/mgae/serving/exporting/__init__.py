"""Take what was learned elsewhere: networks, vectors and graphs in the forms of other tools."""
