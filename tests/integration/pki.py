"""Certificates that a test makes: of the lab's own gateway CA (whose key lies in the controller's state
directory) or of another CA. Written by python3-cryptography, not by the code under test."""
import datetime
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption())


def cert_pem(cert):
    return cert.public_bytes(serialization.Encoding.PEM)


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


class Authority:
    """A CA: the lab's own when given its files, else a new one."""

    def __init__(self, directory=None):
        if directory:
            self.cert = x509.load_pem_x509_certificate((pathlib.Path(directory) / "gateway-ca.pem").read_bytes())
            self.key = serialization.load_pem_private_key(
                (pathlib.Path(directory) / "gateway-ca.key").read_bytes(), None)
            return
        self.key = new_key()
        now = datetime.datetime.utcnow()
        identifier = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        self.cert = (
            x509.CertificateBuilder().subject_name(name("other CA")).issuer_name(name("other CA"))
            .public_key(self.key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY).not_valid_after(now + 3650 * DAY)
            .add_extension(x509.BasicConstraints(True, 0), True).add_extension(identifier, False)
            .sign(self.key, hashes.SHA256()))

    def issue(self, uri, key, start=-1, end=30):
        """A certificate for client and server use with one URI; `start` and `end` in days from now."""
        now = datetime.datetime.utcnow()
        return (
            x509.CertificateBuilder().subject_name(name("gateway")).issuer_name(self.cert.subject)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now + start * DAY).not_valid_after(now + end * DAY)
            .add_extension(x509.BasicConstraints(False, None), True)
            .add_extension(x509.KeyUsage(True, False, False, False, False, False, False, False, False), True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]),
                           False)
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri)]), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .sign(self.key, hashes.SHA256()))


def gateway_uri(gateway_id):
    return f"hawser://gateway/{gateway_id}"


def csr(key):
    request = x509.CertificateSigningRequestBuilder().subject_name(name("gateway")).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


def write_pair(directory, stem, cert, key):
    """(certificate file, key file), as the ssl module wants them."""
    certificate, private = pathlib.Path(directory) / f"{stem}.pem", pathlib.Path(directory) / f"{stem}.key"
    certificate.write_bytes(cert_pem(cert))
    private.write_bytes(key_pem(key))
    return str(certificate), str(private)


def identity_files(lab, gateway):
    """A gateway's own certificate and key, as its agent keeps them."""
    directory = pathlib.Path(lab.state["nodes"][gateway]["state_dir"])
    return str(directory / "identity.pem"), str(directory / "identity.key")
