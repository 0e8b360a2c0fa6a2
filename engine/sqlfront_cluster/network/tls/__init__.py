"""Encryption: what opens a cluster, and what hides from others what its members say.

``security`` holds a cluster's secret and certificates, ``authority`` makes certificates of the secret,
``contexts`` makes TLS contexts of certificates.
"""
