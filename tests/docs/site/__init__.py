"""The site: built strictly, and opened in a browser."""
