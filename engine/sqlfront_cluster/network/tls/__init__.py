"""Security: the secret of a cluster, and the encryption of its connections.

``security`` holds a cluster's secret and certificates, ``authority`` makes certificates from the secret,
``contexts`` makes TLS contexts from certificates.
"""

from sqlfront_values.lazy_modules import lazy_submodules

lazy_submodules(__name__, "authority")
