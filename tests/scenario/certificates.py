"""An authority and its certificates, made with openssl in a folder."""

import os
import ssl
import subprocess

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"
# Python takes no certificate without it from 3.13 on (VERIFY_X509_STRICT), nor
# of an authority that does not say what its key is for.
AUTHORITY = "authorityKeyIdentifier=keyid"
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl(*args, check=True):
    return subprocess.run(["openssl", *args], check=check, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder = str(folder)
        self.pem, self.key = self.path(name + ".pem"), self.path(name + ".key")
        openssl("req", "-x509", *KEY, "-keyout", self.key, "-out", self.pem,
                "-subj", f"/CN={name}", "-days", "30",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name, days=30, names=NAMES, extra=""):
        """A certificate for this machine; returns its file and its key's.
        days < 0: expired so many days ago."""
        pem, key = self.path(name + ".pem"), self.path(name + ".key")
        openssl("req", *KEY, "-keyout", key, "-out", pem + ".csr",
                "-subj", f"/CN={name}")
        with open(pem + ".ext", "w", encoding="ascii") as f:
            f.write(f"{names}\n{AUTHORITY}\n{extra}\n")
        sign = ["x509", "-req", "-in", pem + ".csr", "-CA", self.pem, "-CAkey",
                self.key, "-CAcreateserial", "-extfile", pem + ".ext", "-out",
                pem]
        # newer versions refuse what ends before it begins, older ones do not
        # know how to say when it begins
        if days >= 0 or openssl(*sign, "-not_before", "20200101000000Z",
                                "-not_after", "20200102000000Z",
                                check=False).returncode:
            openssl(*sign, "-days", str(days))
        return pem, key

    def client(self, pair=None, oldest=ssl.TLSVersion.TLSv1_2):
        """What a client needs: trust in this authority, and a certificate."""
        context = ssl.create_default_context(cafile=self.pem)
        context.minimum_version = oldest
        context.set_alpn_protocols(["http/1.1"])
        if pair:
            context.load_cert_chain(*pair)
        return context

    def server(self, pair, clients=False):
        """What a server needs; clients: of this authority only."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*pair)
        if clients:
            context.load_verify_locations(self.pem)
            context.verify_mode = ssl.CERT_REQUIRED
        return context
