"""How things look without a terminal: styled runs, characters, colours for what is exported."""
