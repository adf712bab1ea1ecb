"""Verifies what our client and the sandbox merchant put on the wire, and signs messages for us to
verify, with http-message-signatures and cryptography from PyPI.

    verify.py verify FOLDER     every recorded message holds, and no altered copy of it
    verify.py sign FOLDER       signs cases.json in each algorithm
"""

import base64
import datetime
import hashlib
import json
import pathlib
import sys

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from http_message_signatures import (
    HTTPMessageSigner,
    HTTPMessageVerifier,
    MappingKeyResolver,
    algorithms,
)

ALGORITHMS = {
    "P-256": algorithms.ECDSA_P256_SHA256,
    "P-384": algorithms.ECDSA_P384_SHA384,
    "Ed25519": algorithms.ED25519,
}
CURVES = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1}


class Verifier(HTTPMessageVerifier):
    # The protocol leaves `created` to choice.
    require_created = False


class Message:
    """A message as the library wants it, out of the bytes of the wire."""

    def __init__(self, start, headers, body, scheme):
        self.start, self.headers, self.body, self.scheme = start, dict(headers), body, scheme
        first, second = start.split(" ")[:2]
        self.is_request = not first.startswith("HTTP/")
        if self.is_request:
            self.method, self.target = first, second
            self.url = f"{scheme}://{self.headers.get('host')}{second}"
        else:
            self.status_code = int(second)

    @classmethod
    def parse(cls, raw, scheme):
        head, _, body = raw.partition(b"\r\n\r\n")
        start, *lines = head.decode().split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            assert name.lower() not in headers, f"{name} twice"
            headers[name.lower()] = value.strip()
        return cls(start, headers, body, scheme)

    def bytes(self):
        lines = [self.start, *(f"{name}: {value}" for name, value in self.headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body

    def but(self, start=None, headers=None, body=None):
        changed = {**self.headers, **(headers or {})}
        changed = {name: value for name, value in changed.items() if value is not None}
        body = self.body if body is None else body
        return Message(start or self.start, changed, body, self.scheme)

    def floor(self):
        """What the protocol wants to be covered."""
        if not self.is_request:
            covered = ["@status"]
        else:
            covered = ["@method", "@authority", "@path"]
            if self.target.partition("?")[2]:
                covered.append("@query")
            for name in ["ucp-agent", "idempotency-key", "webhook-id", "webhook-timestamp"]:
                if name in self.headers:
                    covered.append(name)
            if "signature-agent" in self.headers:
                covered.append('"signature-agent";key="sig1"')
        if self.body:
            covered += ["content-digest", "content-type"]
        return covered

    def altered(self):
        """Copies that no signature of this message holds for."""
        first, second, third = self.start.split(" ", 2)
        if self.is_request:
            path, _, query = second.partition("?")
            method = "DELETE" if first == "GET" else "GET"
            yield "method", self.but(f"{method} {second} {third}")
            yield "path", self.but(f"{first} {path}x?{query} {third}")
            yield "query", self.but(f"{first} {path}?{query}&x=1 {third}")
            yield "host", self.but(headers={"host": "other.example"})
        else:
            yield "status", self.but("HTTP/1.1 202 -" if second == "200" else "HTTP/1.1 200 -")
        for name in [
            "ucp-agent",
            "idempotency-key",
            "signature-agent",
            "webhook-id",
            "webhook-timestamp",
            "content-type",
            "content-digest",
            "signature-input",
            "signature",
        ]:
            if name in self.headers:
                yield f"{name} exchanged", self.but(headers={name: other(self.headers[name])})
                yield f"{name} removed", self.but(headers={name: None})
        for component in ['"@method" ', '"@status" ', '"@status"']:
            less = self.headers["signature-input"].replace(component, "", 1)
            if less != self.headers["signature-input"]:
                yield f"{component}dropped", self.but(headers={"signature-input": less})
        middle = len(self.body) // 2
        body = bytearray(self.body or b"{}")
        body[middle] ^= 1
        yield "body", self.but(body=bytes(body))


def other(value):
    """The value with one character in its middle exchanged."""
    middle = len(value) // 2
    place = next((at for at in range(middle, len(value)) if value[at].isalnum()), None)
    if place is None:
        return value + "x"
    return value[:place] + ("B" if value[place] == "A" else "A") + value[place + 1 :]


def number(text):
    return int.from_bytes(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def text_of(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def public_key(jwk):
    if jwk["kty"] == "OKP":
        raw = number(jwk["x"]).to_bytes(32)
        return ed25519.Ed25519PublicKey.from_public_bytes(raw)
    point = ec.EllipticCurvePublicNumbers(number(jwk["x"]), number(jwk["y"]), CURVES[jwk["crv"]]())
    return point.public_key()


def verify_one(message, jwk):
    """Holds, or raises. With the body, the library demands that its digest is covered."""
    keys = MappingKeyResolver(public_keys={jwk["kid"]: public_key(jwk)}, private_keys={})
    verifier = Verifier(signature_algorithm=ALGORITHMS[jwk["crv"]], key_resolver=keys)
    body, required = message.body, message.floor()
    (result,) = verifier.verify(message, max_age=None, require_components=required, body=body)
    if body and result.body != body:
        raise ValueError("a body without a digest")


def verify(folder):
    index = json.loads((folder / "index.json").read_text())
    copies = 0
    for entry in index:
        message = Message.parse((folder / entry["file"]).read_bytes(), entry["scheme"])
        verify_one(message, entry["key"])
        for what, copy in message.altered():
            try:
                verify_one(copy, entry["key"])
            except Exception:
                copies += 1
                continue
            sys.exit(f"{entry['file']}: {what}, and it still holds")
    assert index, "nothing was recorded"
    print(f"by Python: {len(index)} checked, {copies} altered copies refused")


def sign(folder):
    folder.mkdir(parents=True, exist_ok=True)
    cases = json.loads((pathlib.Path(__file__).parent / "cases.json").read_text())
    index = []
    for crv, algorithm in ALGORITHMS.items():
        for place, case in enumerate(cases):
            private, jwk = key_pair(crv)
            now = datetime.datetime.now(datetime.timezone.utc)
            web_bot_auth = {"nonce": "bm9uY2U", "tag": case["tag"]} if "tag" in case else {}
            # A thumbprint, where the tag demands one.
            jwk["kid"] = thumbprint(jwk) if "tag" in case else "their key"
            body = case["body"].encode()
            message = Message(case["start"], case["headers"], body, case["scheme"])
            keys = MappingKeyResolver(public_keys={}, private_keys={jwk["kid"]: private})
            HTTPMessageSigner(signature_algorithm=algorithm, key_resolver=keys).sign(
                message,
                key_id=jwk["kid"],
                created=now,
                expires=now + datetime.timedelta(minutes=5),
                label="sig1",
                include_alg=place % 2 == 0,
                covered_component_ids=message.floor(),
                body=body or None,
                **web_bot_auth,
            )
            # The library writes names as it likes.
            message.headers = {name.lower(): value for name, value in message.headers.items()}
            file = f"{crv}-{place}.message"
            (folder / file).write_bytes(message.bytes())
            index.append({"file": file, "scheme": case["scheme"], "key": jwk})
    (folder / "index.json").write_text(json.dumps(index, indent=1))
    print(f"by Python: {len(index)} signed")


def key_pair(crv):
    if crv == "Ed25519":
        private = ed25519.Ed25519PrivateKey.generate()
        raw = private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )
        return private, {"kty": "OKP", "crv": crv, "x": text_of(raw)}
    private = ec.generate_private_key(CURVES[crv]())
    point, size = private.public_key().public_numbers(), 32 if crv == "P-256" else 48
    x, y = (text_of(it.to_bytes(size)) for it in (point.x, point.y))
    return private, {"kty": "EC", "crv": crv, "x": x, "y": y}


def thumbprint(jwk):
    members = {name: jwk[name] for name in sorted(jwk)}
    text = json.dumps(members, separators=(",", ":"))
    return text_of(hashlib.sha256(text.encode()).digest())


if __name__ == "__main__":
    {"verify": verify, "sign": sign}[sys.argv[1]](pathlib.Path(sys.argv[2]))
