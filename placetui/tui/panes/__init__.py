"""The panes of the main screen. Each owns its cursor, find, filter and order, and tells what is selected in it."""
