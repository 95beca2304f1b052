"""The dashboard in a browser: textual-serve behind a token. The only user of aiohttp and textual-serve."""
