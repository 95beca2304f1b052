"""What opens above the main screen."""
