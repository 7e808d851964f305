"""The command line, thin: parse → RunConfig → pipeline → print."""
