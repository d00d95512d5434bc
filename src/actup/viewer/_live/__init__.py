"""Maps while they are computed: a local server, the page's controls, and maps of selections."""
