"""Recordings: observations in a file, written while a cluster is watched and played back later."""
