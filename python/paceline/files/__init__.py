"""Files of which nothing is believed: regular ones only, and written whole or not at all."""
