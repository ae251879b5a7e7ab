"""Certificates made for one test run: an authority of our own, and what it vouches for."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates that only those trust who are told to."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of a test")])
        usage = x509.KeyUsage(
            *([False] * 5), key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False
        )
        basic = x509.BasicConstraints(ca=True, path_length=0)
        self._certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(basic, critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def trusting(self) -> ssl.SSLContext:
        """What a client needs that trusts this authority alone."""
        return ssl.create_default_context(cadata=self.pem)

    def serving(self, *names: str, ended: bool = False) -> ssl.SSLContext:
        """What a server needs that calls itself by these names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        named = x509.SubjectAlternativeName([_general(name) for name in names])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            self._builder(x509.Name([]), key.public_key(), ended)
            .add_extension(named, critical=True)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "both.pem"
            file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
            context.load_cert_chain(file)
        return context

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePublicKey, ended: bool = False) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        until = now - timedelta(days=1) if ended else now + timedelta(days=1)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key)
        builder = builder.serial_number(x509.random_serial_number())
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        return builder.not_valid_before(now - timedelta(days=2)).not_valid_after(until)


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
