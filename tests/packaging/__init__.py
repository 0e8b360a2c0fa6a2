"""The package as a user installs it: a wheel in an environment of its own, outside the checkout."""
